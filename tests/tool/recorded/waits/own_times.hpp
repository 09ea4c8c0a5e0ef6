// The clocks and the waits of threads that account for their own time (times.cpp, lanes.cpp),
// local, so that a report names them without their parameters.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>

namespace {

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void must(bool has_worked) {
  if (!has_worked) std::abort();
}

void spin(std::int64_t cpu_ns) {
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

struct kernel_times {
  unsigned long long running_ns = 0, delay_ns = 0;
};
// Returns what the kernel says of the calling thread.
kernel_times own_times() {
  kernel_times times;
  std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r");
  must(file != nullptr && std::fscanf(file, "%llu %llu", &times.running_ns, &times.delay_ns) == 2);
  std::fclose(file);
  return times;
}

}  // namespace
