// Asks the kernel whether a word of the program's memory can be read.
#pragma once

#include <cerrno>
#include <cstdint>

#include "profiler/preload/base/raw_call.hpp"

namespace tarn::preload {

// Returns true when the eight bytes at `address` can be read; they do not cross a page when it is a multiple of
// eight. The kernel copies a mask of signals before it checks how to change the mask, and this call names no valid
// way, so nothing changes. Returns false when a filter of system calls answers instead. It costs some 100 ns.
inline bool is_word_readable(std::uintptr_t address) noexcept {
  constexpr long invalid_operation = -1;
  return own_call(SYS_rt_sigprocmask, invalid_operation, address, nullptr, 8) == -EINVAL;
}

}  // namespace tarn::preload
