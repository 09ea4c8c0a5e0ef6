// The longest file that `ulimit -f` allows.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace tarn::platform::files {

/// A call that makes a file longer than that is sent SIGXFSZ, which ends the process.
inline bool exceeds_limit(std::uint64_t bytes) noexcept {
  rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

}  // namespace tarn::platform::files
