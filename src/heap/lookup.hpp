// What stands at an address: the one place that tells blocks from everything else.
#pragma once

#include <cstdint>

#include "heap/heap.hpp"

namespace tarn::heaps {

/// The two halves of a page map key.
inline heap* owner_in(std::uintptr_t key) noexcept { return reinterpret_cast<heap*>(key & ~pages::mark_mask); }
inline size_class class_in(std::uintptr_t key) noexcept { return static_cast<size_class>(key & pages::mark_mask); }

/// A block that the program may have.
struct found_block {
  heap* owner;
  pages::slab* home;
  size_class index;   ///< class_count: a large block
  std::size_t bytes;  ///< usable

  bool large() const noexcept { return index == detail::class_count; }
};

/// The block that starts at `address`. An address where none does is the caller's
/// fault: foreign, free already, or in the middle of a block; it is reported in the
/// name of `entry`. Whether a small block is free already is not looked at.
found_block find_block(const char* entry, const void* address) noexcept;

/// Reports a fault if `owner` is strict and belongs to another thread.
void check_strict_slow(const heap& owner, const void* block) noexcept;
inline void check_strict(const heap& owner, const void* block) noexcept {
  if (owner.strict) [[unlikely]] {
    check_strict_slow(owner, block);
  }
}

}  // namespace tarn::heaps
