// What the processor counts in a program that is about to be started.
#pragma once

#include <array>
#include <cstdint>

namespace tarn::command {

// Of all processes that this one starts from now on, each from its exec on, with their threads and children; in the
// program alone, not in the kernel. Costs nothing while they run.
class processor_counts {
 public:
  processor_counts();
  processor_counts(const processor_counts&) = delete;
  processor_counts& operator=(const processor_counts&) = delete;
  ~processor_counts();

  // So far; 0 where the kernel or the processor does not let us count.
  std::uint64_t instructions() const { return count(0); }
  std::uint64_t surprises() const { return count(1); }  // branches that were guessed wrong

 private:
  std::uint64_t count(std::size_t which) const;

  std::array<int, 2> files_;
};

}  // namespace tarn::command
