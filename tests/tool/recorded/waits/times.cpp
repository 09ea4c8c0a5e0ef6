// Accounts for its own time, for time_test.py. `times account` has a thread named "truth" spin, wait for a lock, read
// from a pipe and sleep, and prints what the clocks say of each. `times switch ROUNDS` has two threads wake each other
// through pipes, and says when half of it is done. `times idle` has a thread wait until standard input ends. `times
// crowd THREADS ROUNDS` has threads named "crowd" run and sleep for a millisecond in turns, and prints what the kernel
// says of them. `times brief THREADS` has threads run for 4 ms, one after the other. `times mixed THREADS` has threads
// run for 2 ms each, one after the other, while one runs for 1.5 s, and prints which share of it all the brief ones
// took.
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
#include <vector>

#include "own_times.hpp"

namespace {

using std::chrono::milliseconds;

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
      parts[0] = measured([] { spin(400'000'000); });
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

void crowd(int threads, int rounds) {
  std::mutex lock;
  kernel_times sum;
  std::vector<std::thread> crowd;
  for (int number = 0; number < threads; ++number) {
    crowd.emplace_back([&] {
      ::pthread_setname_np(::pthread_self(), "crowd");
      for (int round = 0; round < rounds; ++round) {
        spin(1'000'000);
        std::this_thread::sleep_for(milliseconds(1));
      }
      const kernel_times times = own_times();
      const std::lock_guard guard(lock);
      sum.running_ns += times.running_ns;
      sum.delay_ns += times.delay_ns;
    });
  }
  for (std::thread& thread : crowd) thread.join();
  std::printf("{\"running_ns\": %llu, \"delay_ns\": %llu}\n", sum.running_ns, sum.delay_ns);
}

[[gnu::noinline]] std::int64_t spin_briefly() {
  return measured([] { spin(2'000'000); }).cpu_ns;
}
[[gnu::noinline]] std::int64_t spin_long() {
  return measured([] { spin(1'500'000'000); }).cpu_ns;
}

void mix(int threads) {
  std::int64_t brief_ns = 0, long_ns = 0;
  std::thread spinning([&] { long_ns = spin_long(); });
  for (; threads > 0; --threads) std::thread([&] { brief_ns += spin_briefly(); }).join();
  spinning.join();
  std::printf("%.4f\n", static_cast<double>(brief_ns) / static_cast<double>(brief_ns + long_ns));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  std::puts("ready");
  std::fflush(stdout);
  if (mode == "account") print_accounts();
  if (mode == "switch" && count > 2) switch_threads(std::atoi(arguments[2]));
  if (mode == "crowd" && count > 3) crowd(std::atoi(arguments[2]), std::atoi(arguments[3]));
  for (int left = mode == "brief" && count > 2 ? std::atoi(arguments[2]) : 0; left > 0; --left)
    std::thread([] { spin(4'000'000); }).join();
  if (mode == "mixed" && count > 2) mix(std::atoi(arguments[2]));
  if (mode == "idle") {
    std::thread idle(std::getchar);
    idle.join();
  }
}
