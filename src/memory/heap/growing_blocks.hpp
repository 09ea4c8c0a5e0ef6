// Remembers the last few blocks that realloc made larger, and how large such blocks become. All members are relaxed
// atomics, because several threads use a shared heap. A stale or lost entry costs a little time or memory.
// (docs/design/realloc.md)
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tarn/detail/size_class.hpp>

namespace tarn::heaps {

/// Remembers the last few blocks that realloc had to move to make them larger, and the bytes that the program last
/// requested for them. A stale entry costs a little memory at worst. The entries are relaxed atomics, because several
/// threads use a shared heap.
class recent_blocks {
 public:
  struct entry {
    std::atomic<const void*> block{nullptr};
    std::atomic<std::size_t> requested{0};
  };

  /// Returns null if the block is not among them.
  entry* find(const void* block) noexcept {
    for (entry& kept_entry : entries_) {
      if (kept_entry.block.load(std::memory_order_relaxed) == block) return &kept_entry;
    }
    return nullptr;
  }
  void insert(const void* block, std::size_t requested) noexcept {
    if (entry* const stale = find(block)) {  // of a block that was freed since
      stale->requested.store(requested, std::memory_order_relaxed);
      return;
    }
    const std::uint32_t index = next_.load(std::memory_order_relaxed) % count;
    next_.store(index + 1, std::memory_order_relaxed);
    entries_[index].block.store(block, std::memory_order_relaxed);
    entries_[index].requested.store(requested, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t count = 4;
  entry entries_[count];
  std::atomic<std::uint32_t> next_{0};
};

/// Counts how many blocks have grown into each power of two from 1 KiB on, so that a buffer gets room at once for the
/// size that most buffers reach.
class growth_history {
 public:
  /// Notes that a block that was requested with `before` bytes is requested with `bytes` now.
  [[gnu::always_inline]] void note(std::size_t before, std::size_t bytes) noexcept {
    if (((before - 1) ^ (bytes - 1)) > before - 1) [[unlikely]] {  // bytes - 1 has a higher first bit
      note_passed(before, bytes);
    }
  }

  /// Of the last blocks that grew to about `bytes`, at least seven eighths grew further, to the power of two that this
  /// returns. Returns 0 if there is none, or if these blocks are too few for a prediction.
  std::size_t likely_size(std::size_t bytes) const noexcept {
    const std::size_t first = bracket_of(bytes);
    const unsigned grown = count(first);
    std::size_t bracket = first;
    if (grown >= min_count) {
      while (bracket + 1 < bracket_count && count(bracket + 1) >= grown - grown / 8) ++bracket;
    }
    return bracket == first ? 0 : min_bytes << bracket;
  }

 private:
  static constexpr std::size_t min_bytes = std::size_t{1} << 10;
  static constexpr std::size_t bracket_count = std::bit_width(detail::largest_class_size / min_bytes);
  static constexpr unsigned min_count = 8;
  static constexpr unsigned max_count = 128;

  /// Returns 0 up to 1 KiB, then one more for each power of two; the last one stands for all larger sizes, too.
  static std::size_t bracket_of(std::size_t bytes) noexcept {
    const auto bracket = static_cast<std::size_t>(std::bit_width((bytes - (bytes != 0)) / min_bytes));
    return bracket < bracket_count ? bracket : bracket_count - 1;
  }
  [[gnu::noinline]] void note_passed(std::size_t before, std::size_t bytes) noexcept {
    const std::size_t end = bracket_of(bytes) + 1;
    for (std::size_t bracket = bracket_of(before) + 1; bracket < end; ++bracket) {
      if (add(bracket)) halve();
    }
  }
  unsigned count(std::size_t bracket) const noexcept { return counts_[bracket].load(std::memory_order_relaxed); }
  bool add(std::size_t bracket) noexcept {
    const unsigned now = count(bracket) + 1;
    counts_[bracket].store(static_cast<std::uint8_t>(now), std::memory_order_relaxed);
    return now >= max_count;
  }
  void halve() noexcept {
    for (std::atomic<std::uint8_t>& each_count : counts_) {
      each_count.store(each_count.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint8_t> counts_[bracket_count] = {};
};

}  // namespace tarn::heaps
