// Says which time in the kernel the calls have that a sampled call stands for.
//
// A call may be long because its thread was preempted in it. Multiplied by the weight of its window, one such call of
// 4 ms would be a second. But where long calls are usual, such as reads from a disk, each stands for others.
#pragma once

#include <cstdint>

namespace tarn::preload {

// Long calls (long_calls.hpp) are usual in a cell whose windows have seen this many of them.
constexpr std::uint64_t usual_long_calls = 4;

struct sampled_call {
  std::uint64_t ticks = 0, weight = 1;
  // The other calls of its cell so far: their mean, and how many of those in windows were long. Without others, the
  // mean is that of this call.
  std::uint64_t mean_ticks = 0, long_calls = 0;
  bool is_long = false;
};

// Returns the ticks of all calls that it stands for. The first long calls stand for calls of the mean, until there are
// enough of them: then the time that was left out is added.
constexpr std::uint64_t ticks_of(const sampled_call& call) noexcept {
  const std::uint64_t weighted_ticks = call.weight * call.ticks;
  if (!call.is_long || call.weight <= 1 || call.mean_ticks >= call.ticks || call.long_calls >= usual_long_calls)
    return weighted_ticks;
  const std::uint64_t left_out = (call.weight - 1) * (call.ticks - call.mean_ticks);
  return call.long_calls + 1 < usual_long_calls ? weighted_ticks - left_out
                                                : weighted_ticks + (usual_long_calls - 1) * left_out;
}

}  // namespace tarn::preload
