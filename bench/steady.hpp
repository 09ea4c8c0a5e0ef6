// The steady state: counts the kernel calls that the server-like mix still makes once it is warm.
#pragma once
#include <unistd.h>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "process.hpp"
#include "rows/slots.hpp"

namespace bench {

/// Threads meet here by patience: std::barrier sleeps in the kernel by a call that allocators make, too.
class patient_barrier {
 public:
  explicit patient_barrier(unsigned threads) noexcept : threads_(threads) {}

  void arrive_and_wait() noexcept {
    const unsigned round = round_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_.store(0);
      round_.store(round + 1);
    } else {
      for (patience p; round_.load() == round;) p.wait();
    }
  }

 private:
  const unsigned threads_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> round_{0};
};

/// Makes a system call that does nothing and stands out in a trace: strace shows its text between all others.
inline void trace_marker(const char* text) noexcept {
  [[maybe_unused]] const ssize_t refused = write(-1, text, std::strlen(text));
}

/// Two threads do `steps` steps of the server-like mix in all as warm-up, then `steps` again between two markers.
template <class Front>
int run_steady(std::uint64_t steps, bool is_traced) {
  constexpr unsigned threads = 2;
  patient_barrier barrier(threads);
  patience::is_traced = is_traced;
  std::array<std::uint64_t, threads> sums{};
  long faults = 0, resident = 0;
  std::int64_t wall_ns = 0;
  const auto body = [&](unsigned thread) {
    server<Front> worker({thread, threads, 0});
    std::uint64_t sum = worker.run(steps / threads);
    barrier.arrive_and_wait();
    if (thread == 0) {
      resident = resident_kib();
      page_faults();  // the first call itself may touch new pages
      faults = page_faults();
      wall_ns = now_ns();
      trace_marker("bench: steady begins");
    }
    barrier.arrive_and_wait();
    sum += worker.run(steps / threads);
    barrier.arrive_and_wait();
    if (thread == 0) {
      trace_marker("bench: steady ends");
      wall_ns = now_ns() - wall_ns;
      faults = page_faults() - faults;
      resident = resident_kib() - resident;
    }
    barrier.arrive_and_wait();
    sums[thread] = sum + worker.finish();
  };
  std::thread second_thread(body, 1);
  body(0);
  second_thread.join();
  std::printf(
      "{\"form\":\"%s\",\"steady\":%llu,\"malloc\":\"%s\",\"faults\":%ld,\"grown_kib\":%ld,\"wall_ns\":%lld,"
      "\"checksum\":\"%016llx\"}\n",
      Front::name, static_cast<unsigned long long>(steps), malloc_provider(), faults, resident,
      static_cast<long long>(wall_ns), static_cast<unsigned long long>(sums[0] + sums[1]));
  return 0;
}

}  // namespace bench
