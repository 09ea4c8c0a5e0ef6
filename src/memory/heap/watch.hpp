// Lets another process find the heaps of this one: `tarn top` reads the counters of a program on the drop-in from
// outside, without any effect on that program.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/heap/heap.hpp"

namespace tarn::heaps {

/// Changes when a counter moves within a heap of the same size.
inline constexpr std::uint64_t heap_revision = 1;

/// Identifies the memory layout of heaps: two builds with different layouts have different values.
inline constexpr std::uint64_t watch_layout = (heap_revision << 60) ^ (std::uint64_t{sizeof(heap)} << 32) ^
                                              (std::uint64_t{sizeof(class_state)} << 20) ^ (detail::class_count << 8) ^
                                              (TARN_CHECKS << 1) ^ TARN_SMALL;

struct watch_root {
  std::uint64_t mark = expected_mark;
  std::uint64_t layout = watch_layout;
  const std::atomic<heap*>* heaps;  ///< the newest heap; `next_heap` leads to all others, which are never freed

  static constexpr std::uint64_t expected_mark = 0x746f6f72206e7261;  // "arn root"
};

}  // namespace tarn::heaps

/// Every program and library with Tarn's heaps has it; readers find it in the file by this name.
extern "C" [[gnu::visibility("default")]] const tarn::heaps::watch_root tarn_watch_root;
