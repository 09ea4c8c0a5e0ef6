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

/// The bytes that a block of each class counts for the limit. A key without a class never fits, so that one comparison
/// checks both.
struct room_table {
  std::uint32_t bytes[pages::mark_mask + 1];
  consteval room_table() noexcept : bytes{} {
    for (size_class index = 0; index <= pages::mark_mask; ++index) {
      bytes[index] = remote_batch::bytes_limit;
      if (index < detail::class_count) {
        bytes[index] = std::max<std::uint32_t>(pages::shapes.classes[index].block_bytes, remote_batch::min_block_bytes);
      }
    }
  }
};
inline constexpr room_table rooms;

/// Adds a block of another heap to the batch of the thread's heap. Returns false if the block is the first one or fills
/// the batch, there is no batch, or the key is not one of a size class. heap::deallocate_remote handles the others.
[[gnu::always_inline]] inline bool add_to_batch(detail::heap_front& front, void* block, std::uintptr_t key) noexcept {
  detail::batch_cursor& cursor = front.cursor;
  const std::ptrdiff_t room = cursor.room - static_cast<std::ptrdiff_t>(rooms.bytes[key & pages::mark_mask]);
  if (room <= 0 || !pages::may_start_at(block, static_cast<size_class>(key & pages::mark_mask))) [[unlikely]] {
    return false;
  }
  cursor.room = room;
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
