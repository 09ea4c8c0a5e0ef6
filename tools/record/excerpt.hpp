// Parts of what a thread does with the heap, noted one by one in the region: what a replay repeats.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/region.hpp"

namespace tarn::record {

// Of the thread that has it, and used by it alone. No memory but the region's.
class excerpt {
 public:
  void set_up(std::uint32_t thread) noexcept;

  // Whether the next part begins now.
  bool is_due(const format::thread_record& counts) const noexcept {
    return counts.allocations.load(std::memory_order_relaxed) >= due_;
  }
  // All further events of the thread come the long way, until the part is full.
  void begin(format::thread_record& counts) noexcept;

  bool is_open() const noexcept { return open_ != nullptr; }
  // While it is open.
  void note(format::excerpt_kind what, const void* block, std::size_t bytes, std::uint32_t site) noexcept;
  void note_release(const void* block) noexcept;

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  format::excerpt_record* open_ = nullptr;
  std::atomic<format::offset>* end_ = nullptr;  // where the next one's place is to be written
  std::uint64_t due_ = never;                   // allocations of the thread
  std::uint32_t made_ = 0;
};

}  // namespace tarn::record
