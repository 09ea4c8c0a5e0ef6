// Finds the block at an address. Only this file decides whether an address is a block.
#pragma once

#include <cstdint>

#include "memory/heap/heap.hpp"

namespace tarn::heaps {

/// Split a page map key into its two parts.
inline heap* owner_in(std::uintptr_t key) noexcept { return reinterpret_cast<heap*>(key & ~pages::mark_mask); }
inline size_class class_in(std::uintptr_t key) noexcept { return static_cast<size_class>(key & pages::mark_mask); }

/// Describes a block that the program may have.
struct found_block {
  heap* owner;
  pages::slab* home;
  size_class index;   ///< class_count: a large block
  std::size_t bytes;  ///< usable

  bool is_large() const noexcept { return index == detail::class_count; }
};

/// Returns the block that starts at `address`. If none starts there, it reports a fault in the name of `entry`: the
/// address is foreign, already free, or inside a block. It does not check whether a small block is already free.
found_block find_block(const char* entry, const void* address) noexcept;

/// Reports a fault if `owner` is strict and belongs to another thread.
void check_strict_slow(const heap& owner, const void* block) noexcept;
inline void check_strict(const heap& owner, const void* block) noexcept {
  if (owner.policy.forbids_remote_frees()) [[unlikely]] {
    check_strict_slow(owner, block);
  }
}

}  // namespace tarn::heaps
