// Does a little of everything until it is ended, or for a number of milliseconds: the subject of `tarn top`.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

std::atomic<bool> must_end = false;
std::atomic<void*> handed = nullptr;
std::mutex contended_mutex;

void pause_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

[[gnu::noinline]] void* make_parcel() {
  void* volatile const block = std::malloc(100);
  return block;
}

[[gnu::noinline]] void make_temporary() {
  void* volatile const block = std::malloc(40);
  std::free(block);
}

void produce() {
  pthread_setname_np(pthread_self(), "producer");
  while (!must_end) {
    std::free(handed.exchange(make_parcel()));
    pause_a_little();
  }
}

void consume() {
  pthread_setname_np(pthread_self(), "con\x1b[2J\nsumer");
  while (!must_end) {
    std::free(handed.exchange(nullptr));
    {
      const std::lock_guard lock(contended_mutex);
      pause_a_little();
    }
    pause_a_little();  // the lock is not fair: without this nobody else would get it
  }
}

void work() {
  pthread_setname_np(pthread_self(), "worker");
  const int file = ::open("/dev/null", O_WRONLY);
  while (!must_end) {
    for (int round = 0; round < 100; ++round) make_temporary();
    { const std::lock_guard lock(contended_mutex); }
    static_cast<void>(!::write(file, "1234567890", 10));
    pause_a_little();
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::thread producer(produce), consumer(consume), worker(work);
  if (count > 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(arguments[1])));
    must_end = true;
  }
  producer.join();
  consumer.join();
  worker.join();
  return 3;
}
