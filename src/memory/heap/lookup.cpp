#include "memory/heap/lookup.hpp"

#include "base/fault.hpp"
#include "memory/heap/free_mark.hpp"
#include "platform/platform.hpp"
#include "platform/random.hpp"

namespace tarn::heaps {

found_block find_block(const char* entry, const void* address) noexcept {
  const std::uintptr_t key = detail::key_of<__ATOMIC_ACQUIRE>(address);  // acquire: page_map::set says why
  pages::slab* const home = pages::page_map::slab_of(address);
  if (key == 0) [[unlikely]] {
    if (const pages::slab* const large = pages::page_map::large_around(address)) {
      base::fault_misaligned(entry, address, large->start, large->bytes);
    }
    // The record of a block with a mapping of its own may describe another one by now.
    const bool is_described = home != nullptr && (home->home != nullptr || home->start == address);
    if (is_described) base::fault_double_free(entry, address, home->bytes);
    base::fault_foreign_pointer(entry, address);
  }
  const size_class index = class_in(key);
  if (index >= pages::large_mark) {
    if (home->start != address) [[unlikely]] {
      base::fault_misaligned(entry, address, home->start, home->bytes);
    }
    return {owner_in(key), home, detail::class_count, home->bytes};
  }
  // In a slab of one unit the offset alone is enough. The slab's description is read only where that is unavoidable,
  // because its owner writes it.
  const pages::class_shape& shape = pages::shapes.classes[index];
  if (shape.units != 1 || !pages::may_start_at(address, index)) {
    const std::size_t number = home->number_of(address);
    if (number >= home->capacity) [[unlikely]] {
      base::fault_foreign_pointer(entry, address);  // it lies in the rest behind the last block
    }
    const char* const first = home->block(number);
    if (first != address) [[unlikely]] {
      base::fault_misaligned(entry, address, first, home->bytes);
    }
  }
  return {owner_in(key), home, index, shape.block_bytes};
}

void draw_mark() noexcept {
  if (!marks_blocks) {
    free_mark = mark_high_bits | (platform::random_number() >> 8);
    marks_blocks = true;
  }
}

void check_strict_slow(const heap& owner, const void* block) noexcept {
  const std::uint32_t self = platform::thread_number();
  const std::uint32_t owner_number = owner.owner_thread.load(std::memory_order_relaxed);
  if (self != owner_number) base::fault_strict_heap(owner.name, block, self, owner_number);
}

}  // namespace tarn::heaps
