// Predicts what a filter of system calls will do before it is installed.
#pragma once

#include <span>

#include "profiler/format/seccomp_filter.hpp"

namespace tarn::preload {

// Returns true when the filter at `address`, as prctl(2) and seccomp(2) take it, allows all of these calls. Returns
// false when the filter cannot be read or is not understood.
bool filter_allows(long address, std::span<const format::tested_call> calls) noexcept;

}  // namespace tarn::preload
