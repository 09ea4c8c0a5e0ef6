// Where the blocks of a heap were allocated: for heap objects that ask for it (heap_options::sites). Such a heap is
// closed, so each allocation takes the slow path, and is noted there. A free notes nothing: whether a noted block is in
// use is asked of its slab when the heap ends.
#pragma once

#include "heap/heap.hpp"

namespace tarn::threads {

/// Before the first block. False: no memory.
bool note_sites(heaps::heap& of) noexcept;
/// The owner of `of` has allocated `block`. Replaces what was known of that address. Without memory it is not noted.
void note_site(heaps::heap& of, const void* block, std::size_t bytes, const void* site) noexcept;
/// The same, where `at` notes and an outer call than the one that was noted is the program's. `block` may be null.
inline void correct_site(detail::heap_front* at, const void* block, std::size_t bytes, const void* site) noexcept {
  auto* const of = static_cast<heaps::heap*>(at);
  if (at != &heaps::nobody && of->sites != nullptr && block != nullptr) [[unlikely]] {
    note_site(*of, block, bytes, site);
  }
}
/// All that was noted is gone: the heap was released.
void forget_sites(heaps::heap& of) noexcept;
/// Says what is in use, and where it was allocated; then nothing is noted any more. The owner, at the end of the heap.
void report_sites(heaps::heap& of) noexcept;

}  // namespace tarn::threads
