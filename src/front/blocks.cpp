#include "front/blocks.hpp"

#include <cstring>

#include "base/bits.hpp"
#include "base/fault.hpp"
#include "heap/registry.hpp"
#include "thread/threads.hpp"

namespace tarn::front {
namespace {

using detail::largest_class_size;

pages::slab* slab_at(const char* entry, const void* block) noexcept {
  const std::uintptr_t key = detail::key_of(block);
  pages::slab* const home = pages::page_map::slab_of(block);
  if (key == 0) {
    if (home != nullptr) {
      base::fault_double_free(block, home->bytes);
    }
    base::fault_foreign_pointer(entry, block);
  }
  const bool large = (key & pages::mark_mask) >= pages::large_mark;
  const char* const first = large ? home->start : home->block(home->number_of(block));
  if (first != block) {
    base::fault_misaligned(entry, block, first, home->bytes);
  }
  return home;
}

bool is_large(const pages::slab& home) noexcept { return home.index == detail::class_count; }

// A block that grew a moment ago and grows again is a buffer being filled: it gets
// room for what is likely to come, so that a buffer built by appends is copied a few
// times and not at every step. Only where the room costs little: not for small
// blocks, of which there may be many, and most where pages that nobody touches yet
// cost nothing. (docs/design/realloc.md)
std::size_t with_room(std::size_t bytes) noexcept {
  using namespace base::units;
  if (bytes < 1_KiB || bytes > front::largest_request / 2) {
    return bytes;
  }
  if (bytes >= 4_KiB && bytes < 16_KiB) {
    return bytes * 4;
  }
  return bytes < 256_KiB ? bytes * 2 : bytes + bytes / 4;
}

}  // namespace

std::size_t usable_bytes(const char* entry, const void* block) noexcept {
  return block == nullptr ? 0 : slab_at(entry, block)->bytes;
}

void* allocate_zeroed(detail::heap_front* at, std::size_t count, std::size_t each) noexcept {
  std::size_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes) || bytes > largest_request) {
    return nullptr;
  }
  if (bytes <= largest_class_size) {
    void* const block = detail::allocate(at, detail::class_of(bytes));
    return block == nullptr ? nullptr : std::memset(block, 0, bytes);
  }
  bool zeroed = false;
  void* const block = detail::allocate_large(at, bytes, &zeroed);
  if (block != nullptr && !zeroed) {
    std::memset(block, 0, bytes);
  }
  return block;
}

void* reallocate(detail::heap_front* at, void* block, std::size_t bytes) noexcept {
  if (block == nullptr) {
    return bytes > largest_request ? nullptr
                                   : detail::allocate_any(at, bytes, detail::block_alignment);
  }
  pages::slab* const home = slab_at("realloc", block);
  if (bytes > largest_request) {
    return nullptr;
  }
  heaps::heap* const self = threads::ready(at);
  if (self == nullptr) {
    return nullptr;
  }
  const std::size_t before = home->bytes;
  const bool filling = self->grown.contains(block);
  // A block that shrinks a little stays: what it could give back is not worth a copy.
  // A buffer that is being filled may have room for eight times as much.
  const std::size_t least = filling           ? before / 8
                            : is_large(*home) ? before - pages::unit_bytes + 1
                                              : before / 2;
  if (bytes <= before && bytes >= least) {
    return block;
  }
  if (is_large(*home) && bytes > largest_class_size) {
    auto* const owner =
        reinterpret_cast<heaps::heap*>(detail::key_of(block) & ~pages::mark_mask);
    if (owner->resize_large(home, bytes)) {
      return home->start;
    }
  }
  const bool grows = bytes > before;
  void* made = nullptr;
  if (grows && filling) {
    made = detail::allocate_any(self, with_room(bytes), detail::block_alignment);
  }
  if (made == nullptr) {
    made = detail::allocate_any(self, bytes, detail::block_alignment);
  }
  if (made == nullptr) {
    return grows ? nullptr : block;
  }
  // Never less than the smallest block: the drop-in keeps a mark in the second word.
  std::memcpy(made, block, grows ? before : bytes < 16 ? 16 : bytes);
  detail::deallocate(self, block);
  if (grows) {
    self->grown.insert(made);
  }
  return made;
}

bool trim() noexcept {
  if (heaps::heap* const self = threads::initialise() ? threads::own_heap() : nullptr) {
    self->collect();
    self->flush_all();
  }
  return heaps::central().purge_all() != 0;
}

}  // namespace tarn::front
