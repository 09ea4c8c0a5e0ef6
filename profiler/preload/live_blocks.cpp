#include "profiler/preload/live_blocks.hpp"

#include <dlfcn.h>

#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/next.hpp"

extern "C" {
// This is the C library's second name of its malloc.
[[gnu::weak]] void* __libc_malloc(std::size_t) noexcept;
// The C++ library defines this, where the program has one.
[[gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
}

namespace tarn::preload {
namespace {

// Returns true when no two blocks begin less than 32 bytes apart. This holds for glibc, where a block and the word
// before it take at least 32 bytes, and for a C++ library whose operators call malloc.
bool are_32_apart() noexcept {
  if (next() == nullptr || next_allocator.malloc != &__libc_malloc) return false;
  if (&__cxa_throw == nullptr) return true;
  dl_find_object of_new, of_library;
  return ::_dl_find_object(next_function("_Znwm"), &of_new) == 0 &&
         ::_dl_find_object(reinterpret_cast<void*>(&__cxa_throw), &of_library) == 0 &&
         of_new.dlfo_link_map == of_library.dlfo_link_map;
}

}  // namespace

constinit unsigned live_blocks::granule_shift = 4;
constinit std::atomic<live_blocks::word*>* live_blocks::table = nullptr;

live_blocks::word* live_blocks::make_leaf(std::atomic<word*>& place) noexcept {
  constexpr std::size_t words = std::size_t{2} << (leaf_shift - 4);
  auto* const leaf = static_cast<word*>(map(words * sizeof(word)));
  if (leaf == nullptr) return nullptr;
  word* other_leaf = nullptr;
  // Two threads may get here at once. The leaf of the loser stays mapped but untouched, which costs only addresses.
  return place.compare_exchange_strong(other_leaf, leaf, std::memory_order_acq_rel) ? leaf : other_leaf;
}

bool live_blocks::set_up() noexcept {
  if (table == nullptr) granule_shift = are_32_apart() ? 5 : 4;  // a child has its parent's allocator
  unmap(table, leaves * sizeof *table);
  table = static_cast<std::atomic<word*>*>(map(leaves * sizeof *table));
  return table != nullptr;
}

}  // namespace tarn::preload
