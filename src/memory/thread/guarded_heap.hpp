// Guards the blocks of heap objects under the option `guard`: overruns, writes after free and double frees, with the
// places of allocation and free.
//
// A block starts where the heap's block starts, so that all other code finds it as usual. Its description lies in the
// table of memory/thread/site_table.hpp, and a canary behind its bytes. A freed block is filled and waits; at most 256
// blocks of a heap wait. A wrong write is found when a block is freed, when it has waited, and when the heap is
// released or ends. Then the canaries of all blocks in use are checked, too, because most blocks of heap objects are
// never freed.
//
// The inline paths only know the size class of a block, so its bytes are those of the class. std::pmr containers and
// large alignments give the exact size.
#pragma once

#include <cstddef>

#include "base/fault.hpp"
#include "memory/heap/lookup.hpp"

namespace tarn::threads {

/// Makes `target`, which notes sites, a guarded heap; called before its first block.
void guard_object(heaps::heap& target) noexcept;

/// Returns whether the block at the page map key `key` belongs to a guarded heap.
inline bool is_guarded(std::uintptr_t key) noexcept {
  return key != 0 && heaps::owner_in(key)->policy.is_guarded_object();
}

/// Returns the sizes whose blocks are of a class.
constexpr base::stated_size sizes_of(detail::size_class index) noexcept {
  return {index == 0 ? 0 : detail::size_of(index - 1) + 1, detail::size_of(index)};
}

/// Returns null without memory. Only the owner may call it.
void* allocate_guarded(heaps::heap& source, std::size_t bytes, std::size_t alignment, const void* site) noexcept;
/// Corrects the entry of a block that was just allocated: the exact size, and the program's own call.
void correct_guarded(heaps::heap& source, void* block, std::size_t bytes, const void* site) noexcept;
/// Frees a block of any guarded heap, in any thread. `expected_class` is the class of the size that the caller states;
/// class_count: none.
void deallocate_guarded(detail::heap_front* front, void* block, detail::size_class expected_class,
                        const void* site) noexcept;
/// Returns the bytes of a live block, without its canary. Any other address is a fault in the name of `entry`.
std::size_t guarded_bytes(const char* entry, const void* block) noexcept;

/// Frees all blocks that wait. Only the owner may call it.
void end_waiting(heaps::heap& target) noexcept;
/// Checks all blocks, in use and waiting; called before all end at once. `entry` names the call.
void check_all(heaps::heap& target, const char* entry) noexcept;

}  // namespace tarn::threads
