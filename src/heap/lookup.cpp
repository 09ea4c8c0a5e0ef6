#include "heap/lookup.hpp"

#include "base/fault.hpp"
#include "platform/platform.hpp"

namespace tarn::heaps {

found_block find_block(const char* entry, const void* address) noexcept {
  const std::uintptr_t key = detail::key_of(address);
  // Acquire: the key may name a heap that took the slab over and that this thread has
  // never met; page_map::set releases.
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  pages::slab* const home = pages::page_map::slab_of(address);
  if (key == 0) [[unlikely]] {
    if (home != nullptr) {
      base::fault_double_free(entry, address, home->bytes);
    }
    base::fault_foreign_pointer(entry, address);
  }
  const bool large = class_in(key) >= pages::large_mark;
  const char* const first = large ? home->start : home->block(home->number_of(address));
  if (first != address) [[unlikely]] {
    base::fault_misaligned(entry, address, first, home->bytes);
  }
  return {owner_in(key), home, large ? detail::class_count : class_in(key)};
}

void check_strict_slow(const heap& owner, const void* block) noexcept {
  const std::uint32_t self = platform::thread_number();
  const std::uint32_t its = owner.owner_thread.load(std::memory_order_relaxed);
  if (self != its) {
    base::fault_strict_heap(owner.name, block, self, its);
  }
}

}  // namespace tarn::heaps
