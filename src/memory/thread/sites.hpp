// Notes where the blocks of a heap were allocated, for heap objects with heap_options::records_sites. Such a heap is
// closed, so each call takes the slow path, which notes it. A free by another thread is not noted; when the heap ends,
// the slab of a noted block shows whether the block is in use.
#pragma once

#include "base/fault.hpp"
#include "memory/heap/heap.hpp"

namespace tarn::threads {

/// Makes `target` note its call sites; called before its first block. With `reports_leaks`, end_sites() reports the
/// blocks in use. Returns false without memory.
[[nodiscard]] bool note_sites(heaps::heap& target, bool reports_leaks) noexcept;
/// Notes that the owner of `target` has allocated `block`, and replaces the entry of that address. Returns false
/// without memory; nothing is noted then.
bool note_site(heaps::heap& target, const void* block, std::size_t bytes, const void* site) noexcept;
/// Does what correct_site does, for a block of `target`.
void correct_noted_site(heaps::heap& target, void* block, std::size_t bytes, const void* site) noexcept;
/// Replaces the noted call by an outer one, which is the program's own, if `front` notes call sites. `block` may be
/// null.
inline void correct_site(detail::heap_front* front, void* block, std::size_t bytes, const void* site) noexcept {
  auto* const target = static_cast<heaps::heap*>(front);
  if (front != &heaps::no_heap && target->sites != nullptr && block != nullptr) [[unlikely]] {
    correct_noted_site(*target, block, bytes, site);
  }
}
/// Notes that the owner of `target` frees `block`. A second free of it is a fault that reports both calls.
void note_free(heaps::heap& target, const void* block, const void* site) noexcept;
/// Returns true if `block` was noted and is free; `record` is then its entry.
bool find_free(const heaps::heap& target, const void* block, base::block_record& record) noexcept;
/// Drops all entries, because the heap was released.
void forget_sites(heaps::heap& target) noexcept;
/// Reports the blocks in use and where they were allocated, if `reports_leaks` was set. The heap notes nothing from
/// then on. The owner calls it at the end of the heap.
void end_sites(heaps::heap& target) noexcept;

}  // namespace tarn::threads
