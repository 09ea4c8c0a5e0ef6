// Reads hardware counters of a program that is about to start.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace tarn::command {

// Counts in the next program that this process starts, from its exec on, with its threads and children, in user mode
// only. While it counts, each switch between threads costs some microseconds (in a virtual machine). So it counts for
// a part of the time: all of the first tenth of a second, then 5 ms of each 200.
class processor_counts {
 public:
  // If not `is_enabled`, nothing is counted.
  explicit processor_counts(bool is_enabled);
  processor_counts(const processor_counts&) = delete;
  processor_counts& operator=(const processor_counts&) = delete;
  ~processor_counts();

  using steady = std::chrono::steady_clock;
  // Call this at next_turn() or later, as long as the program runs.
  void turn();
  steady::time_point next_turn() const { return next_; }

  // Scales the counts of the measured parts to `processor_ns`; 0 if the kernel or the processor does not allow
  // counting.
  std::uint64_t instructions(std::uint64_t processor_ns) const { return count(0, processor_ns); }
  std::uint64_t mispredicted_branches(std::uint64_t processor_ns) const { return count(1, processor_ns); }

 private:
  std::uint64_t count(std::size_t index, std::uint64_t processor_ns) const;

  std::array<int, 2> files_;
  bool is_on_ = true;
  steady::time_point next_;
};

}  // namespace tarn::command
