// Records excerpts of a thread's heap events, one by one, in the region. A replay repeats them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/format/region.hpp"

namespace tarn::preload {

// Belongs to one thread, which alone uses it. It takes no memory but the region's.
class trace_excerpt {
 public:
  void set_up(std::uint32_t thread) noexcept {
    due_ = thread < format::max_excerpted ? format::excerpt_capacity : not_due;
  }

  // Returns true when the next excerpt begins now.
  bool is_due(const format::thread_record& counts) const noexcept {
    return counts.allocations.load(std::memory_order_relaxed) >= due_;
  }
  // Begins an excerpt. All events of the thread take the slow path until it is full.
  void begin(format::thread_record& counts) noexcept;

  bool is_open() const noexcept { return open_ != nullptr; }
  // These two must be called only while the excerpt is open.
  void note(format::excerpt_kind kind, const void* block, std::size_t bytes, std::uint32_t site) noexcept;
  // `site` is the stack of the free.
  void note_release(const void* block, std::uint32_t site) noexcept;

 private:
  static constexpr std::uint64_t not_due = ~std::uint64_t{0};

  format::excerpt_record* open_ = nullptr;
  std::atomic<format::offset>* end_ = nullptr;  // where the next excerpt's offset is written
  std::uint64_t due_ = 0;                       // in allocations of the thread
  std::uint32_t count_ = 0;
};

}  // namespace tarn::preload
