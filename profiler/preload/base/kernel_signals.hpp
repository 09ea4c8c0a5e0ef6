// Declares signals in the kernel's format, which is not the C library's.
#pragma once

#include <signal.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "profiler/preload/base/raw_call.hpp"

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

namespace tarn::preload {

struct kernel_action {
  void* handler;
  unsigned long flags;
  void* restorer;
  std::uint64_t mask;
};

constexpr std::uint64_t signal_bit(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

// Returns true when these bytes of the program's memory can be read; it lets the kernel try. Call it only with all
// signals blocked, as the kernel takes the words for signals to block.
inline bool is_readable(long address, std::size_t bytes) noexcept {
  if (address == 0) return false;
  for (std::size_t index = 0; index < bytes; index += 8) {
    if (raw_call(SYS_rt_sigprocmask, SIG_BLOCK, address + static_cast<long>(index), nullptr, 8) == -EFAULT)
      return false;
  }
  return true;
}

}  // namespace tarn::preload
