// Has three threads whose states are known at each time, for lanes_test.py. "worker" spins, waits for a lock that
// "holder" holds while that sleeps, waits for a byte from main's pipe, and sleeps: 300 ms each. Prints when each phase
// of a thread began and ended, on the monotonic clock. With "chain", "first" waits for a lock that "second" holds,
// which waits for one that "third" holds, which reads from main's pipe for 300 ms.
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "own_times.hpp"

namespace {

constexpr std::chrono::milliseconds phase{300};

// The phases of one thread.
class account {
 public:
  explicit account(const char* name) : name_(name) { must(::pthread_setname_np(::pthread_self(), name) == 0); }

  template <class Step>
  void add(const char* phase_name, Step step) {
    const std::uint64_t begin_delay = own_times().delay_ns;
    const std::int64_t begin_ns = nanoseconds_of(CLOCK_MONOTONIC), begin_cpu = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    step();
    const std::int64_t cpu_ns = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - begin_cpu;
    const std::int64_t end_ns = nanoseconds_of(CLOCK_MONOTONIC);
    const std::uint64_t delay_ns = own_times().delay_ns - begin_delay;
    lines_.push_back("{\"thread\": \"" + std::string(name_) + "\", \"phase\": \"" + phase_name +
                     "\", \"begin_ns\": " + std::to_string(begin_ns) + ", \"end_ns\": " + std::to_string(end_ns) +
                     ", \"cpu_ns\": " + std::to_string(cpu_ns) + ", \"delay_ns\": " + std::to_string(delay_ns) + "}");
  }
  void print() const {
    for (const std::string& line : lines_) std::puts(line.c_str());
  }

 private:
  const char* name_;
  std::vector<std::string> lines_;
};

[[gnu::noinline]] void sleep_once() { std::this_thread::sleep_for(phase); }
[[gnu::noinline]] void sleep_and_hold(std::mutex& lock, std::latch& has_lock, std::latch& has_spun) {
  const std::lock_guard guard(lock);
  has_lock.count_down();
  has_spun.wait();
  sleep_once();
}

bool is_waited_for(std::mutex& lock) {
  return __atomic_load_n(&lock.native_handle()->__data.__lock, __ATOMIC_RELAXED) == 2;
}
[[gnu::noinline]] void read_and_hold(std::mutex& lock, std::latch& has_lock, int file) {
  const std::lock_guard guard(lock);
  has_lock.count_down();
  wait_for_byte(file);
}
[[gnu::noinline]] void wait_and_hold(std::mutex& lock, std::latch& has_lock, std::mutex& next_lock) {
  const std::lock_guard guard(lock);
  has_lock.count_down();
  const std::lock_guard next_guard(next_lock);
}

void wait_in_a_chain() {
  std::array<int, 2> pipe{};
  must(::pipe(pipe.data()) == 0);
  std::mutex near_lock, far_lock;
  std::latch far_is_held(1), near_is_held(1);
  std::thread third([&] {
    ::pthread_setname_np(::pthread_self(), "third");
    read_and_hold(far_lock, far_is_held, pipe[0]);
  });
  far_is_held.wait();
  std::thread second([&] {
    ::pthread_setname_np(::pthread_self(), "second");
    wait_and_hold(near_lock, near_is_held, far_lock);
  });
  near_is_held.wait();
  std::thread first([&] {
    ::pthread_setname_np(::pthread_self(), "first");
    wait_for_lock(near_lock);
  });
  while (!is_waited_for(near_lock) || !is_waited_for(far_lock))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::int64_t begin_ns = nanoseconds_of(CLOCK_MONOTONIC);
  std::this_thread::sleep_for(phase);
  must(::write(pipe[1], "x", 1) == 1);
  first.join();
  const std::int64_t end_ns = nanoseconds_of(CLOCK_MONOTONIC);
  second.join();
  third.join();
  std::printf("{\"waited_ns\": %lld}\n", static_cast<long long>(end_ns - begin_ns));
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {
    wait_in_a_chain();
    return 0;
  }
  std::array<int, 2> pipe{};
  must(::pipe(pipe.data()) == 0);
  std::mutex lock;
  std::latch has_lock(1), has_spun(1), reads(1);
  std::vector<account> accounts;
  accounts.reserve(2);
  std::thread holder([&] {
    account& phases = accounts.emplace_back("holder");
    phases.add("hold", [&] { sleep_and_hold(lock, has_lock, has_spun); });
  });
  has_lock.wait();
  std::thread worker([&] {
    account& phases = accounts.emplace_back("worker");
    phases.add("spin", [] { spin(std::chrono::nanoseconds(phase).count()); });
    has_spun.count_down();
    phases.add("lock", [&] { wait_for_lock(lock); });
    reads.count_down();
    phases.add("read", [&] { wait_for_byte(pipe[0]); });
    phases.add("sleep", sleep_once);
  });
  reads.wait();
  std::this_thread::sleep_for(phase);
  must(::write(pipe[1], "x", 1) == 1);
  holder.join();
  worker.join();
  for (const account& phases : accounts) phases.print();
}
