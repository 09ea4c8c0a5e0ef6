// Delays the reuse of freed blocks of a hardened heap, and makes its order random.
//
// Each class has some slots. A freed block takes a random slot, and the block that was in the slot becomes free. So a
// block waits, on average, for as many frees of its class as the class has slots.
//
// For faults it remembers where the last blocks of all classes were freed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "memory/heap/magazine.hpp"

namespace tarn::heaps {

/// Says which slots belong to a class; their number is a power of two.
struct slot_table {
  static constexpr std::size_t max_bytes_of_class = std::size_t{32} << 10;
  static constexpr std::size_t max_slots = 128;
  struct {
    std::uint16_t first;
    std::uint16_t mask;
  } classes[detail::class_count];
  std::uint16_t count;
  consteval slot_table() noexcept : classes{}, count(0) {
    for (size_class index = 0; index < detail::class_count; ++index) {
      const std::size_t fit = std::bit_floor(max_bytes_of_class / detail::size_of(index) + 1);
      const std::size_t slots = fit > max_slots ? max_slots : fit < 2 ? 2 : fit;
      classes[index] = {count, static_cast<std::uint16_t>(slots - 1)};
      count = static_cast<std::uint16_t>(count + slots);
    }
  }
};
inline constexpr slot_table slots;
/// Larger blocks are not held back.
inline constexpr size_class last_quarantined = detail::class_of(slot_table::max_bytes_of_class);

/// The freed blocks of one heap that wait. Only the owner of the heap uses it, and visitors that
/// it keeps out meanwhile (owner_lock), except for recall().
class random_quarantine {
 public:
  /// Returns an empty one in pages of its own, or null without memory. Pages that it does not use stay untouched.
  static random_quarantine* make() noexcept;

  /// Must run before the first use, and again after purge().
  void seed(std::uint64_t number) noexcept { random_ = number; }

  /// Gives its pages back to the system, and forgets all frees. No block may wait. Returns the bytes.
  std::size_t purge() noexcept;

  /// Puts in a block, and returns another one of its class; null if there is none.
  [[gnu::always_inline]] void* exchange(void* block, size_class index) noexcept {
    const auto& range = slots.classes[index];
    void*& slot = slots_[range.first + (draw() & range.mask)];
    void* const before = slot;
    slot = block;
    return before;
  }

  /// Remembers the call that freed a block.
  [[gnu::always_inline]] void note(const void* block, const void* site) noexcept {
    recent_[note_count_++ % recent_count] = {block, site};
  }

  struct recent_free {
    const void* block;
    const void* site;
  };
  /// Returns the last free of a block; null if it is not remembered. Other threads may write the entries meanwhile.
  const recent_free* recall(const void* block) const noexcept {
    for (std::uint32_t distance = 1; distance <= recent_count; ++distance) {
      const recent_free& entry = recent_[(note_count_ - distance) % recent_count];
      if (entry.block == block) return &entry;
    }
    return nullptr;
  }

  /// Calls `visit(block)` for all waiting blocks of a class, and forgets them.
  template <class Visit>
  void empty(size_class index, Visit visit) noexcept {
    const auto& range = slots.classes[index];
    for (std::size_t number = range.first; number <= std::size_t{range.first} + range.mask; ++number) {
      if (void* const block = slots_[number]) {
        slots_[number] = nullptr;
        visit(block);
      }
    }
  }

  /// Returns 32 random bits.
  [[gnu::always_inline]] std::uint64_t draw() noexcept {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX; the high bits are the good ones
    return random_ >> 32;
  }

 private:
  static constexpr std::uint32_t recent_count = 2048;

  random_quarantine() noexcept {}  // the memory is zero

  std::uint64_t random_;
  std::uint32_t note_count_;
  void* slots_[slots.count];
  recent_free recent_[recent_count];
};

}  // namespace tarn::heaps
