// The longest file that `ulimit -f` allows.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace tarn::platform::files {

/// Returns true if a file of so many bytes is longer than the limit. The kernel would send SIGXFSZ to the thread that
/// makes it so long, which ends the process.
inline bool exceeds_limit(std::uint64_t bytes) noexcept {
  rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

}  // namespace tarn::platform::files
