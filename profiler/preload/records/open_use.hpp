// Notes in the region what the calling thread is in the middle of, so that `tarn record` sees it even if it never ends.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiler/format/region.hpp"

namespace tarn::preload {

inline void open(format::open_use& use, std::uint64_t key, std::uint64_t since) noexcept {
  use.key.store(key, std::memory_order_relaxed);
  use.since.store(since, std::memory_order_release);  // release: a reader that sees the time sees the key
}
inline void close(format::open_use& use) noexcept {
  use.since.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // before the counters that are added next
}

}  // namespace tarn::preload
