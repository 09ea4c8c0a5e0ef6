// Tells how long woken threads waited for a processor. No record of a switch says when a thread was woken, but the
// kernel sums up for each thread how long it was ready to run and did not run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

namespace tarn::cpu {

// Returns how long a thread was ready to run without running (/proc/PID/task/TID/schedstat), in nanoseconds; nothing if
// that cannot be read.
std::optional<std::uint64_t> run_delay_of(pid_t process, pid_t thread);

// Waits of one thread that were about as long.
struct wait_sum {
  std::uint64_t ns = 0, waits = 0;
};

// The time of one thread that its waits contain because it did not run at once when it was woken.
class thread_delay {
 public:
  // A thread begins, which may have the number of one that ended. The amounts are those that `add` has.
  void begin(std::uint64_t runnable_ns, std::uint64_t waits);
  // Adds what the kernel says, and what the records say until then: how long the thread was known to be ready to run,
  // and how many waits it has had.
  void add(std::uint64_t delay_ns, std::uint64_t runnable_ns, std::uint64_t waits);
  bool is_known() const { return is_known_; }
  // Returns the time of all waits. Those since the last `add` are taken to have as much of it each as those before.
  double sum_ns(std::uint64_t waits) const;

 private:
  bool is_known_ = false, has_begun_ = false;
  std::uint64_t runnable_before_ns_ = 0, waits_before_ = 0, delay_before_ns_ = 0;
  std::uint64_t waits_ = 0;  // at the last `add`
  double delayed_ns_ = 0, earlier_ns_ = 0;
};

// Returns the longest delay of a wait, so that all have `sum_ns` together: each wait has that or, if it was shorter,
// is a delay as a whole.
double longest_delay(std::span<const wait_sum> groups, double sum_ns);

}  // namespace tarn::cpu
