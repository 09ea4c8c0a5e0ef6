// Predicts what a filter of system calls will do before it is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace tarn::preload {

// filter_allows() returns true when the filter at `address`, as prctl(2) and seccomp(2) take it, allows all of these
// calls. It returns false when the filter cannot be read or is not understood.
struct tested_call {
  std::uint32_t number;
  std::uint64_t first_argument = 0;
};
bool filter_allows(long address, std::initializer_list<tested_call> calls) noexcept;

}  // namespace tarn::preload
