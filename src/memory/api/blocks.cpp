#include "memory/api/blocks.hpp"

#include <algorithm>
#include <cstring>

#include "base/bits.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/threads.hpp"

namespace tarn::api {
namespace {

using detail::largest_class_size;

// A block that grew recently and grows again is a buffer being filled. It gets room for the likely growth, so that a
// buffer built by appends is copied a few times and not at every step. It gets that room only where the room costs
// little: none for small blocks, of which there may be many, and most where untouched pages cost nothing.
// (docs/design/realloc.md)
constexpr std::size_t least_with_room = std::size_t{1} << 10;
// A smaller block hardly grows to a size that gets room at its next step, so it is not remembered.
constexpr std::size_t least_remembered = least_with_room / 4;
std::size_t with_room(std::size_t bytes) noexcept {
  using namespace base::units;
  if (bytes < least_with_room || bytes > api::largest_request / 2) {
    return bytes;
  }
  if (bytes >= 4_KiB && bytes < 16_KiB) {
    return bytes * 4;
  }
  return bytes < 256_KiB ? bytes * 2 : bytes + bytes / 4;
}

}  // namespace

std::size_t usable_bytes(const char* entry, const void* block) noexcept {
  return block == nullptr ? 0 : heaps::find_block(entry, block).bytes;
}

void* allocate_zeroed(detail::heap_front* current, std::size_t count, std::size_t element_bytes) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > largest_request) {
    return nullptr;
  }
  if (bytes <= largest_class_size) {
    void* const block = detail::allocate(current, detail::class_of(bytes));
    return block == nullptr ? nullptr : std::memset(block, 0, bytes);
  }
  bool zeroed = false;
  void* const block = detail::allocate_large(current, bytes, detail::block_alignment, &zeroed);
  if (block != nullptr && !zeroed) {
    std::memset(block, 0, bytes);
  }
  return block;
}

void* reallocate(detail::heap_front* current, void* block, std::size_t bytes, resize_ways ways) noexcept {
  if (block == nullptr) {
    return bytes > largest_request ? nullptr : detail::allocate_any(current, bytes, detail::block_alignment);
  }
  const heaps::found_block before_move = heaps::find_block("realloc", block);
  const std::size_t before = before_move.bytes;
  if (bytes > largest_request) {
    return nullptr;
  }
  heaps::heap* const self = threads::ready(current);
  if (self == nullptr) {
    return bytes <= before ? block : nullptr;
  }
  const bool grows = bytes > before;
  heaps::recent_blocks::entry* const filling =
      (grows ? bytes : before) >= least_with_room ? self->grown.find(block) : nullptr;
  if (!grows) {
    // A block that shrinks a little stays: the bytes that it would free are not worth a copy.
    const std::size_t little = before_move.large() ? pages::unit_bytes : std::max(before / 8, detail::block_alignment);
    const bool fits = before - bytes < little;
    if (filling == nullptr) {
      if (fits) {
        return block;
      }
    } else if (fits || bytes >= filling->requested.load(std::memory_order_relaxed)) {
      // A buffer that is being filled has room. What requests less than the last time wants the room back.
      filling->requested.store(bytes, std::memory_order_relaxed);
      return block;
    }
  }
  if (before_move.large() && bytes > largest_class_size) {
    heaps::check_strict(*before_move.owner, block);
    if (const pages::slab* const resized =
            before_move.owner->resize_large(before_move.home, bytes, before_move.owner == self)) {
      return resized->start;
    }
  }
  void* moved = nullptr;
  if (grows && filling != nullptr) {
    moved = ways.allocate(self, with_room(bytes), detail::block_alignment);
  }
  if (moved == nullptr) {
    moved = ways.allocate(self, bytes, detail::block_alignment);
  }
  if (moved == nullptr) {
    return grows ? nullptr : block;
  }
  // The copy has at least the smallest block's size: the drop-in keeps a mark in the second word.
  std::memcpy(moved, block, grows ? before : bytes < 16 ? 16 : bytes);
  ways.give_back(self, block);
  if (grows && bytes >= least_remembered) {
    self->grown.insert(moved, bytes);
  }
  return moved;
}

bool trim() noexcept {
  if (!threads::initialise()) {
    return false;
  }
  const auto trim_one = [](heaps::heap& visited) {
    visited.send_all();
    visited.collect();
    visited.flush_all();
    visited.stock.clear();
    return visited.purge_slabs();
  };
  std::size_t purged = 0;
  if (heaps::heap* const thread_heap = threads::own_heap()) {
    const heaps::owning hold(*thread_heap);
    purged += trim_one(*thread_heap);
  }
  {
    heaps::heap& process = *threads::process_heap();
    const platform::locked hold(process.mutex);
    purged += trim_one(process);
  }
  // These are slabs that their owners would return if they looked.
  heaps::registry::for_all([](heaps::heap& member_heap) {
    member_heap.reclaim_for_owner();
    member_heap.visit_large_cache(true);
  });
  purged += heaps::purge_magazines(true);
  return purged + heaps::central().purge_all() != 0;
}

}  // namespace tarn::api
