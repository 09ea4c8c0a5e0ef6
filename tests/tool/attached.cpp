// Allocates and locks in several threads, checks its own answers, and obeys lines on its input: the subject of
// recordings that begin or end while a program runs.
//
//   attached [THREADS [signals]]
//
// With "signals" a thread sends the first one signals all the time, and each that is lost is a wrong answer.
// It obeys the lines of its input. "blocks N" allocates N large blocks at one place, "fork" has a child do so and
// checks its end, "plugin FILE N" loads a library that does so, and "exec" becomes cat. At the end of its input it
// prints how many answers were wrong, and exits with 3.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t large_bytes = 64 * 1024;  // each is sampled where an interval is 1 KiB

std::atomic<bool> ends = false;
std::atomic<unsigned long> wrong = 0, rounds = 0;
std::mutex shared_mutex;
unsigned long shared_sum = 0;  // guarded by shared_mutex

struct block {
  unsigned char* start;
  std::size_t bytes;
  unsigned char mark;
};

block make_block(unsigned round) {
  const std::size_t bytes = 16 + round * 37 % 3000;
  void* start = nullptr;
  switch (round % 4) {
    case 0: start = std::malloc(bytes); break;
    case 1: start = std::calloc(1, bytes); break;
    case 2: start = std::realloc(std::malloc(bytes / 2), bytes); break;
    default:
      if (::posix_memalign(&start, 64, bytes) != 0) start = nullptr;
  }
  if (start == nullptr) std::abort();
  if (round % 4 == 1 && static_cast<unsigned char*>(start)[bytes - 1] != 0) ++wrong;
  const auto mark = static_cast<unsigned char>(round);
  std::memset(start, mark, bytes);
  return {static_cast<unsigned char*>(start), bytes, mark};
}

void check_and_free(const block& old) {
  for (std::size_t index = 0; index < old.bytes; ++index) {
    if (old.start[index] != old.mark) ++wrong;
  }
  std::free(old.start);
}

void work(unsigned seed) {
  std::vector<block> kept;
  unsigned long added = 0;
  for (unsigned round = seed; !ends; ++round) {
    kept.push_back(make_block(round));
    const auto text = std::make_unique<std::string>(200, static_cast<char>('a' + round % 26));
    if ((*text)[199] != static_cast<char>('a' + round % 26)) ++wrong;
    if (kept.size() == 100) {
      for (const block& old : kept) check_and_free(old);
      kept.clear();
    }
    const std::lock_guard held(shared_mutex);
    ++shared_sum;
    ++added;
  }
  for (const block& old : kept) check_and_free(old);
  rounds += added;
}

void bear_threads() {
  while (!ends) {
    std::thread([] { check_and_free(make_block(static_cast<unsigned>(rounds++ * 7))); }).join();
    {
      const std::lock_guard held(shared_mutex);
      ++shared_sum;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::atomic<unsigned long> handled = 0;

// Signals from SIGRTMIN on are queued and never merged.
void send_signals(pthread_t target) {
  constexpr unsigned long most_waiting = 50;
  unsigned long sent = 0;
  while (!ends) {
    if (sent - handled < most_waiting && ::pthread_kill(target, SIGRTMIN) == 0) ++sent;
  }
  for (int tenths = 0; handled != sent && tenths < 100; ++tenths)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  wrong += sent - handled;
}

[[gnu::noinline]] void allocate_large(int count) {
  for (int number = 0; number < count; ++number) {
    void* volatile const start = std::malloc(large_bytes);
    std::free(start);
  }
}

void fork_a_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    allocate_large(1000);
    ::_exit(wrong == 0 ? 7 : 8);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) ++wrong;
}

void run_plugin(const std::string& words) {
  const std::size_t space = words.rfind(' ');
  void* const plugin = ::dlopen(words.substr(0, space).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) std::abort();
  const auto allocate = reinterpret_cast<void (*)(int)>(::dlsym(plugin, "allocate_in_plugin"));
  allocate(std::atoi(words.c_str() + space));
  ::dlclose(plugin);
}

}  // namespace

int main(int count, char** words) {
  const int threads = count > 1 ? std::atoi(words[1]) : 2;
  std::vector<std::thread> workers;
  for (int number = 0; number < threads; ++number) workers.emplace_back(work, static_cast<unsigned>(number * 1000));
  if (threads > 0) workers.emplace_back(bear_threads);
  if (count > 2) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++handled; };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGRTMIN, &action, nullptr);
    workers.emplace_back(send_signals, ::pthread_self());
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("blocks ")) allocate_large(std::atoi(line.c_str() + 7));
    if (line == "fork") fork_a_child();
    if (line.starts_with("plugin ")) run_plugin(line.substr(7));
    if (line == "exec") ::execlp("cat", "cat", nullptr);
    std::cout << "done" << std::endl;
  }
  ends = true;
  for (std::thread& worker : workers) worker.join();
  std::cout << wrong << " wrong" << std::endl;
  return wrong == 0 ? 3 : 4;
}
