// The remote-free batch: blocks of other heaps that one thread has freed and not sent yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "memory/heap/free_mark.hpp"
#include "memory/heap/magazine.hpp"
#include "memory/pages/slab.hpp"

namespace tarn::heaps {

/// Holds the blocks of all owners in the order of their frees. The number of its blocks and bytes is bounded, however
/// many owners there are. If all or many of its blocks have one owner, they are handed over whole. A batch has the
/// memory of a magazine.
struct remote_batch : pages::inbox_node {
  static constexpr std::size_t capacity = (sizeof(magazine) - sizeof(pages::inbox_node)) / sizeof(void*);
  /// A batch with blocks of this many bytes is full.
  static constexpr std::ptrdiff_t bytes_limit = 64 << 10;
  /// A block counts as at least this many bytes, so that no batch gets more blocks than it can hold.
  static constexpr std::ptrdiff_t min_block_bytes = bytes_limit / static_cast<std::ptrdiff_t>(capacity) + 1;
  /// An owner of fewer blocks in a batch of several owners gets no batch of its own.
  static constexpr std::size_t min_batch_blocks = TARN_SMALL ? 2 : 8;

  /// An owner accepts this many batches until it takes its inbox in. Then it accepts as many as take an eighth of the
  /// memory of its slabs, if that is more.
  static constexpr std::int32_t min_quota = 2;

  void* blocks[capacity];
};
static_assert(sizeof(remote_batch) == sizeof(magazine));

/// A batch that is handed over brings its blocks to magazines of the owner, which do not notice a second free. So the
/// blocks must be marked, or every free be checked.
inline bool may_hand_over() noexcept { return detail::checks_frees || marks_blocks; }

/// The room and the content of a batch, in one number, so that a free changes all parts by one subtraction, and another
/// thread reads parts that belong together:
///   bits 32 to 63   the bytes that still fit, less one: the number is negative once the batch is full
///   bits 22 to 31   blocks
///   bits 0 to 21    bytes of these blocks
class batch_content {
 public:
  constexpr batch_content() noexcept = default;
  constexpr explicit batch_content(std::int64_t packed) noexcept : packed_(packed) {}
  /// Returns the content of an empty batch with room for `bytes`.
  static constexpr batch_content with_room(std::ptrdiff_t bytes) noexcept {
    return batch_content((std::int64_t{bytes} - 1) << room_shift);
  }
  /// Reads the content of a thread's batch. Any thread may call it.
  static batch_content read(const detail::batch_cursor& cursor) noexcept {
    return batch_content(__atomic_load_n(&cursor.content, __ATOMIC_RELAXED));
  }
  /// Only the owner of the batch calls it.
  void store(detail::batch_cursor& cursor) const noexcept {
    __atomic_store_n(&cursor.content, packed_, __ATOMIC_RELAXED);
  }

  /// Returns what one block takes away from the number: `room` bytes of room. It adds a block of `bytes` bytes.
  static constexpr std::int64_t step(std::int64_t room, std::int64_t bytes) noexcept {
    return (room << room_shift) - (std::int64_t{1} << blocks_shift) - bytes;
  }
  constexpr batch_content operator-(std::int64_t block_step) const noexcept {
    return batch_content(packed_ - block_step);
  }

  constexpr bool is_full() const noexcept { return packed_ < 0; }
  constexpr std::uint32_t blocks() const noexcept { return static_cast<std::uint32_t>(packed_) >> blocks_shift; }
  constexpr std::uint32_t bytes() const noexcept {
    return static_cast<std::uint32_t>(packed_) & ((std::uint32_t{1} << blocks_shift) - 1);
  }

 private:
  static constexpr int room_shift = 32, blocks_shift = 22;
  static_assert(remote_batch::capacity < std::size_t{1} << (room_shift - blocks_shift));
  static_assert(remote_batch::bytes_limit + detail::largest_class_size < std::size_t{1} << blocks_shift);

  std::int64_t packed_ = 0;
};

/// The step of a block of each class. A key without a class never fits, so that one comparison checks both.
struct step_table {
  std::int64_t steps[pages::mark_mask + 1];
  consteval step_table() noexcept : steps{} {
    for (size_class index = 0; index <= pages::mark_mask; ++index) {
      steps[index] = batch_content::step(remote_batch::bytes_limit, 0);
      if (index < detail::class_count) {
        const std::int64_t bytes = pages::shapes.classes[index].block_bytes;
        steps[index] = batch_content::step(std::max<std::int64_t>(bytes, remote_batch::min_block_bytes), bytes);
      }
    }
  }
};
inline constexpr step_table batch_steps;

/// Blocks that were freed and that their heaps have not taken in, and their bytes. One heap's part is a difference:
/// only the sum over all heaps has a meaning, modulo 2^64.
struct waiting_frees {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  waiting_frees& operator+=(const waiting_frees& part) noexcept {
    blocks += part.blocks;
    bytes += part.bytes;
    return *this;
  }
  /// Returns the sum, or 0 instead of a negative one: the parts are read one after the other, so a free may have been
  /// taken in, but not yet sent, for the reader.
  waiting_frees at_least_zero() const noexcept {
    const auto clamp = [](std::uint64_t sum) { return static_cast<std::int64_t>(sum) < 0 ? 0 : sum; };
    return {clamp(blocks), clamp(bytes)};
  }
};

/// Adds a block of another heap to the batch of the thread's heap. Returns false if the block is the first one or fills
/// the batch, there is no batch, or the key is not one of a size class. heap::deallocate_remote handles the others.
[[gnu::always_inline]] inline bool add_to_batch(detail::heap_front& front, void* block, std::uintptr_t key) noexcept {
  detail::batch_cursor& cursor = front.cursor;
  const batch_content content = batch_content::read(cursor) - batch_steps.steps[key & pages::mark_mask];
  if (content.is_full() || !pages::may_start_at(block, static_cast<size_class>(key & pages::mark_mask))) [[unlikely]] {
    return false;
  }
  content.store(cursor);
  *cursor.next++ = block;
  cursor.key_difference |= key ^ cursor.first_key;
  return true;
}

/// Frees a block if it belongs to another thread's heap and add_to_batch takes it. `difference` is the key of its
/// address ⊕ the thread's heap. Only for the drop-in, where all heaps are over central(), so that frees may wait. Any
/// address is allowed.
[[gnu::always_inline]] inline bool free_to_batch(detail::heap_front& front, void* block,
                                                 std::uintptr_t difference) noexcept {
  const std::uintptr_t key = difference ^ reinterpret_cast<std::uintptr_t>(&front);
  return key != 0 && difference >= detail::class_count && add_to_batch(front, block, key);
}

}  // namespace tarn::heaps
