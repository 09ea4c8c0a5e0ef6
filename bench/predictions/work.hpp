// The common parts of all programs here: numbers that are the same in each run, and a sum that the optimiser must
// keep.
#pragma once
#include <cstddef>
#include <cstdint>

namespace predictions {

class numbers {
 public:
  std::uint32_t next_below(std::uint32_t end) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 32) * end >> 32);
  }

 private:
  std::uint64_t state_ = 1;
};

// Each program does `rounds` of its work, either in the usual way or with the remedy that the report names, and
// returns a sum of its results, which is the same for both.
using program = std::uint64_t (*)(std::uint64_t rounds);

}  // namespace predictions
