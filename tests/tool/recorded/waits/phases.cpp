// Does one thing for 0.4 s, nothing for 0.6 s, another thing for 0.4 s; the times in a recording must separate them.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

using clock_type = std::chrono::steady_clock;

std::mutex early_lock, late_lock;

[[gnu::noinline]] void early_work() {
  void* volatile const block = std::malloc(100);
  std::free(block);
  const std::lock_guard lock(early_lock);
}

[[gnu::noinline]] void late_work() {
  void* volatile const block = std::malloc(1000);
  std::free(block);
  const std::lock_guard lock(late_lock);
}

template <class Work>
void for_a_while(Work work) {
  const auto end = clock_type::now() + std::chrono::milliseconds(400);
  do {
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (clock_type::now() < end);
}

}  // namespace

int main() {
  std::thread(for_a_while<void (*)()>, early_work).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  std::thread(
      [](int file) {
        for_a_while([file] {
          late_work();
          static_cast<void>(!::write(file, "1234567890", 10));
        });
      },
      ::open("/dev/null", O_WRONLY))
      .join();
}
