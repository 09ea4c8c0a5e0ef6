#include "profiler/preload/live_blocks.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/records/heap_mebibytes.hpp"

extern "C" {
// The C++ library defines this, where the program has one.
[[gnu::weak]] void __cxa_throw(void*, void*, void (*)(void*));
}

namespace tarn::preload {
namespace {

bool are_in_one_library(void* first, void* second) noexcept {
  dl_find_object of_first, of_second;
  return ::_dl_find_object(first, &of_first) == 0 && ::_dl_find_object(second, &of_second) == 0 &&
         of_first.dlfo_link_map == of_second.dlfo_link_map;
}

// Returns true when no two blocks begin less than 32 bytes apart. This holds for glibc, where a block and the word
// before it take at least 32 bytes, and for a C++ library whose operators call malloc.
bool are_32_apart() noexcept {
  // Its own name does not tell glibc's malloc: other allocators define __libc_malloc, too.
  if (next() == nullptr || !are_in_one_library(reinterpret_cast<void*>(next_allocator.malloc),
                                               reinterpret_cast<void*>(&gnu_get_libc_version))) {
    return false;
  }
  return &__cxa_throw == nullptr || are_in_one_library(next_function("_Znwm"), reinterpret_cast<void*>(&__cxa_throw));
}

}  // namespace

constinit unsigned live_blocks::granule_shift = 4;
constinit std::atomic<live_blocks::word*>* live_blocks::table = nullptr;

live_blocks::word* live_blocks::make_leaf(std::atomic<word*>& leaf_pointer, const void* block) noexcept {
  auto* const leaf = static_cast<word*>(map(leaf_bytes));
  if (leaf == nullptr) return nullptr;
  note_heap_range(block, 1);
  word* other_leaf = nullptr;
  // Two threads may get here at once. The leaf of the loser stays mapped but untouched, which costs only addresses.
  return leaf_pointer.compare_exchange_strong(other_leaf, leaf, std::memory_order_acq_rel) ? leaf : other_leaf;
}

bool live_blocks::set_up() noexcept {
  if (table == nullptr) granule_shift = are_32_apart() ? 5 : 4;  // a child has its parent's allocator
  unmap(table, leaves * sizeof *table);
  table = static_cast<std::atomic<word*>*>(map(leaves * sizeof *table));
  return table != nullptr;
}

}  // namespace tarn::preload
