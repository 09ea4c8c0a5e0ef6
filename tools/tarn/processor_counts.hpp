// What the processor counts in a program that is about to be started.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace tarn::command {

// Of the next program that this process starts, from its exec on, with its threads and children; in the program alone,
// not in the kernel. While it is counted each switch from thread to thread costs some microseconds (in a virtual
// machine), so it is counted for a part of the time: all of the first tenth of a second, then 5 ms of each 200.
class processor_counts {
 public:
  // Not `wanted`: nothing is counted.
  explicit processor_counts(bool wanted);
  processor_counts(const processor_counts&) = delete;
  processor_counts& operator=(const processor_counts&) = delete;
  ~processor_counts();

  using steady = std::chrono::steady_clock;
  // To be called at next_turn() or later, as long as the program runs.
  void turn();
  steady::time_point next_turn() const { return next_; }

  // Of all of `processor_ns`, as it was in the parts that were counted; 0 where the kernel or the processor does not
  // let us count.
  std::uint64_t instructions(std::uint64_t processor_ns) const { return count(0, processor_ns); }
  std::uint64_t surprises(std::uint64_t processor_ns) const {
    return count(1, processor_ns);
  }  // branches guessed wrong

 private:
  std::uint64_t count(std::size_t which, std::uint64_t processor_ns) const;

  std::array<int, 2> files_;
  bool is_on_ = true;
  steady::time_point next_;
};

}  // namespace tarn::command
