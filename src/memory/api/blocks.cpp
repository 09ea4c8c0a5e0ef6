#include "memory/api/blocks.hpp"

#include <algorithm>
#include <cstring>

#include "memory/heap/array_pool.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/guarded_heap.hpp"
#include "memory/thread/idle_purge.hpp"
#include "memory/thread/threads.hpp"

namespace tarn::api {

using detail::largest_class_size;

namespace {

// Always moves the block, so that uses of the old address show.
void* reallocate_guarded(detail::heap_front* current, void* block, std::size_t bytes) noexcept {
  const std::size_t before = threads::guarded_bytes("realloc", block);
  void* const moved = bytes > largest_request ? nullptr : detail::allocate_any(current, bytes, detail::block_alignment);
  if (moved != nullptr) {
    std::memcpy(moved, block, std::min(before, bytes));
    detail::deallocate_slow(current, block);
  }
  return moved;
}

}  // namespace

std::size_t usable_bytes(const char* entry, const void* block) noexcept {
  if (threads::is_guarded(detail::key_of<__ATOMIC_ACQUIRE>(block))) [[unlikely]] {
    return threads::guarded_bytes(entry, block);
  }
  return block == nullptr ? 0 : heaps::find_block(entry, block).bytes;
}

void* allocate_zeroed(detail::heap_front* current, std::size_t count, std::size_t element_bytes) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > largest_request) return nullptr;
  if (bytes <= largest_class_size) {
    void* const block = detail::allocate(current, detail::class_of(bytes));
    return block == nullptr ? nullptr : std::memset(block, 0, bytes);
  }
  bool is_zeroed = false;
  void* const block = detail::allocate_large(current, bytes, detail::block_alignment, &is_zeroed);
  if (block != nullptr && !is_zeroed) std::memset(block, 0, bytes);
  return block;
}

void* reallocate(detail::heap_front* current, void* block, std::size_t bytes) noexcept {
  struct moves {
    static void* allocate(detail::heap_front* front, std::size_t room) noexcept {
      return detail::allocate_any(front, room, detail::block_alignment);
    }
    static void give_back(detail::heap_front* front, void* freed) noexcept { detail::deallocate_slow(front, freed); }
  };
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(block);
  if (threads::is_guarded(key)) [[unlikely]] {
    return reallocate_guarded(current, block, bytes);
  }
  return resize<moves>(current, block, key, bytes);
}

bool trim() noexcept {
  if (!threads::initialise()) return false;
  const auto trim_one = [](heaps::heap& visited) {
    visited.send_all();
    visited.collect();
    visited.flush_all();
    visited.stock.clear();
    return visited.purge_slabs();
  };
  std::size_t purged = 0;
  if (heaps::heap* const thread_heap = threads::own_heap()) {
    const heaps::owner_scope hold(*thread_heap);
    purged += trim_one(*thread_heap);
  }
  const auto trim_shared = [&](heaps::heap& shared_heap) {
    const heaps::owner_scope hold(shared_heap);
    purged += trim_one(shared_heap);
  };
  trim_shared(*threads::process_heap());
  for (heaps::heap* const shared_heap : threads::heaps_of_several()) trim_shared(*shared_heap);
  // These are slabs that their owners would return if they looked.
  const bool may_visit = threads::may_visit();
  heaps::registry::for_all([&](heaps::heap& member_heap) {
    member_heap.reclaim_for_owner();
    purged += may_visit ? member_heap.visit_now() : 0;
    member_heap.visit_large_cache(true);
  });
  purged += heaps::arrays.purge(true);
  return purged + heaps::central().purge_all() != 0;
}

}  // namespace tarn::api
