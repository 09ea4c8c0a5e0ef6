// Provides what malloc's family needs beyond allocate and deallocate, for the drop-in and the C API. All functions
// may be called on any thread, and return null when there is no memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tarn/detail/fast_path.hpp>

#include "base/bits.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/thread/threads.hpp"

namespace tarn::api {

/// No object may be larger, because pointer differences must fit into ptrdiff_t.
inline constexpr std::size_t largest_request = PTRDIFF_MAX;

/// Returns the usable bytes of a block; 0 for null. `entry` names the caller in the message when the pointer is not a
/// block of ours.
std::size_t usable_bytes(const char* entry, const void* block) noexcept;

/// Returns a zeroed block for `count` elements of `element_bytes` bytes.
void* allocate_zeroed(detail::heap_front* current, std::size_t count, std::size_t element_bytes) noexcept;

/// A block that grew recently and grows again is a buffer being filled. It gets room for the likely growth, so that a
/// buffer built by appends is copied a few times and not at every step. It gets that room only where the room costs
/// little: none for small blocks, of which there may be many, and most where untouched pages cost nothing.
/// (docs/design/realloc.md)
inline constexpr std::size_t min_bytes_with_room = std::size_t{1} << 10;
/// A smaller block hardly grows to a size that gets room at its next step, so it is not remembered.
inline constexpr std::size_t min_remembered = min_bytes_with_room / 4;
inline std::size_t with_room(std::size_t bytes) noexcept {
  using namespace base::units;
  if (bytes < min_bytes_with_room || bytes > largest_request / 2) return bytes;
  if (bytes >= 256_KiB) return base::align_up(bytes + bytes / 4, 4_KiB);
  const std::size_t roomy = std::bit_ceil(bytes + bytes / 4);
  return bytes >= 4_KiB && bytes < 16_KiB ? 2 * roomy : roomy;
}

/// Returns true if a block starts at `address`, whose key in the page map has class `index`.
inline bool starts_block(const void* address, detail::size_class index) noexcept {
  return index < pages::first_wide ? pages::may_start_at(address, index)
                                   : pages::page_map::slab_of_block(address)->starts_block(address, index);
}

/// Does what realloc does: returns a block of at least `bytes` with the old contents, in place where that is
/// possible. If it returns null, the old block is untouched. `block` may be null; `key` is that of its address. Where
/// the contents move, `Moves` allocates the new block and frees the old one.
template <class Moves>
void* resize(detail::heap_front* current, void* block, std::uintptr_t key, std::size_t bytes) noexcept {
  if (block == nullptr) return bytes > largest_request ? nullptr : Moves::allocate(current, bytes);
  heaps::found_block source;
  if (const std::uintptr_t own_class = key ^ reinterpret_cast<std::uintptr_t>(current);
      own_class < detail::class_count && starts_block(block, static_cast<detail::size_class>(own_class))) [[likely]] {
    const auto index = static_cast<detail::size_class>(own_class);
    source = {static_cast<heaps::heap*>(current), nullptr, index, pages::shapes.classes[index].block_bytes};
  } else {
    source = heaps::find_block("realloc", block);
  }
  const std::size_t before = source.bytes;
  if (bytes > largest_request) return nullptr;
  heaps::heap* const self = threads::ready(current);
  if (self == nullptr) return bytes <= before ? block : nullptr;
  const bool is_growing = bytes > before;
  heaps::recent_blocks::entry* const filling =
      (is_growing ? bytes : before) >= min_bytes_with_room ? self->grown_blocks.find(block) : nullptr;
  if (!is_growing) {
    // A block that shrinks a little stays: the bytes that it would free are not worth a copy.
    const std::size_t little = source.is_large() ? pages::unit_bytes : std::max(before / 8, detail::block_alignment);
    const bool can_stay =
        before - bytes < little || (bytes <= detail::tabled_bytes && self->serves(bytes, source.index));
    if (filling == nullptr) {
      if (can_stay) return block;
    } else if (const std::size_t last = filling->requested.load(std::memory_order_relaxed); can_stay || bytes >= last) {
      // A buffer that is being filled has room. What requests less than the last time wants the room back.
      filling->requested.store(bytes, std::memory_order_relaxed);
      self->growth.note(last, bytes);
      return block;
    }
  }
  if (source.is_large() && bytes > detail::largest_class_size) {
    heaps::check_strict(*source.owner, block);
    if (const pages::slab* const resized = source.owner->resize_large(source.home, bytes, source.owner == self)) {
      return resized->start;
    }
  }
  void* moved = nullptr;
  if (is_growing && bytes >= min_bytes_with_room) {
    self->growth.note(filling != nullptr ? filling->requested.load(std::memory_order_relaxed) : before, bytes);
    moved =
        Moves::allocate(self, std::max(filling != nullptr ? with_room(bytes) : bytes, self->growth.likely_size(bytes)));
  }
  if (moved == nullptr) moved = Moves::allocate(self, bytes);
  if (moved == nullptr) return is_growing ? nullptr : block;
  // The copy has at least the smallest block's size: the drop-in keeps a mark in the second word.
  std::memcpy(moved, block, is_growing ? before : bytes < 16 ? 16 : bytes);
  Moves::give_back(self, block);
  if (is_growing && bytes >= min_remembered) self->grown_blocks.insert(moved, bytes);
  return moved;
}

/// Does the same as the library allocates and frees.
void* reallocate(detail::heap_front* current, void* block, std::size_t bytes) noexcept;

/// Returns free memory of the calling thread's heap and of the process's heap to the system, and tells whether there
/// was any.
bool trim() noexcept;

}  // namespace tarn::api
