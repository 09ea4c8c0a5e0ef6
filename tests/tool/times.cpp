// Accounts for its own time, for time_test.py. `times account` has a thread named "truth" spin, wait for a lock, read
// from a pipe and sleep, and prints what the clocks say of each. `times switch ROUNDS` has two threads wake each other
// through pipes, and says when half of it is done. `times idle` has a thread wait until standard input ends.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string_view>
#include <thread>

namespace {

using std::chrono::milliseconds;

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void must(bool has_worked) {
  if (!has_worked) std::abort();
}

struct account {
  std::int64_t wall_ns = 0, cpu_ns = 0;
};

// Returns what the calling thread took for `step`.
template <class Step>
account measured(Step step) {
  const std::int64_t wall_ns = nanoseconds_of(CLOCK_MONOTONIC), cpu_ns = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
  step();
  return {nanoseconds_of(CLOCK_MONOTONIC) - wall_ns, nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_ns};
}

void spin() {
  constexpr std::int64_t cpu_ns = 400'000'000;
  const std::int64_t end = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

[[gnu::noinline]] void wait_for_lock(std::mutex& lock) {
  lock.lock();
  lock.unlock();
}
[[gnu::noinline]] void wait_for_byte(int file) {
  char byte = 0;
  must(::read(file, &byte, 1) == 1);
}
[[gnu::noinline]] void sleep_once() { std::this_thread::sleep_for(milliseconds(130)); }

void print_accounts() {
  std::array<int, 2> pipe{};
  must(::pipe(pipe.data()) == 0);
  std::mutex lock;
  lock.lock();
  std::atomic<int> step = 0;  // the wait that the thread begins
  const auto begin = [&](int number) {
    step = number;
    step.notify_one();
  };
  std::thread truth([&] {
    ::pthread_setname_np(::pthread_self(), "truth");
    std::array<account, 4> parts;
    const account whole = measured([&] {
      parts[0] = measured(spin);
      begin(1);  // wakes the other thread, which may take this one's processor
      parts[1] = measured([&] { wait_for_lock(lock); });
      begin(2);
      parts[2] = measured([&] { wait_for_byte(pipe[0]); });
      parts[3] = measured(sleep_once);
    });
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    std::printf("{\"waits\": %ld, \"preemptions\": %ld", usage.ru_nvcsw, usage.ru_nivcsw);
    const auto print = [](const char* name, const account& part) {
      std::printf(", \"%s\": {\"wall_ns\": %lld, \"cpu_ns\": %lld}", name, static_cast<long long>(part.wall_ns),
                  static_cast<long long>(part.cpu_ns));
    };
    print("spin", parts[0]);
    print("lock", parts[1]);
    print("read", parts[2]);
    print("sleep", parts[3]);
    print("whole", whole);
    std::puts("}");
  });
  step.wait(0);
  std::this_thread::sleep_for(milliseconds(257));
  lock.unlock();
  step.wait(1);
  std::this_thread::sleep_for(milliseconds(576));
  must(::write(pipe[1], "x", 1) == 1);
  truth.join();
}

void switch_threads(int rounds) {
  std::array<int, 2> requests{}, replies{};
  must(::pipe(requests.data()) == 0 && ::pipe(replies.data()) == 0);
  std::thread replier([&] {
    char byte = 0;
    while (::read(requests[0], &byte, 1) == 1 && byte != 'e') must(::write(replies[1], &byte, 1) == 1);
  });
  for (int round = 0; round < rounds; ++round) {
    if (round == rounds / 2) {
      std::puts("half");
      std::fflush(stdout);
    }
    must(::write(requests[1], "x", 1) == 1);
    wait_for_byte(replies[0]);
  }
  must(::write(requests[1], "e", 1) == 1);
  replier.join();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  std::puts("ready");
  std::fflush(stdout);
  if (mode == "account") print_accounts();
  if (mode == "switch" && count > 2) switch_threads(std::atoi(arguments[2]));
  if (mode == "idle") {
    std::thread idle(std::getchar);
    idle.join();
  }
}
