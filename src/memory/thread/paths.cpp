// Implements the slow paths behind the inline ones: they find the calling thread's heap, give the thread one if it
// has none, lock the heap if it is shared, and pass the call on.
#include <tarn/detail/fast_path.hpp>

#include "base/fault.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/guarded_heap.hpp"
#include "memory/thread/sites.hpp"
#include "memory/thread/threads.hpp"

namespace tarn::detail {
namespace {

using heaps::heap;
using heaps::owner_scope;

// Runs when an allocation has failed, although its heap has returned its own free memory. The threads of shared heaps
// may never call again, so this returns the memory of those heaps, too. Returns true if some of them had changed.
[[gnu::cold, gnu::noinline]] bool return_shared_memory(const heap& failing) noexcept {
  bool has_changed = false;
  const auto visit = [&](heap& shared_heap) {
    if (&shared_heap != &failing) has_changed = shared_heap.return_all() || has_changed;
  };
  if (failing.space != &heaps::central()) return false;
  for (heap* const shared_heap : threads::heaps_of_several()) visit(*shared_heap);
  visit(*threads::process_heap());
  return has_changed;
}

// Calls `attempt` on a heap, under its lock if it has one, and notes the block if the heap notes call sites.
template <class Attempt>
void* with_owner(heap& self, std::size_t bytes, const void* site, Attempt attempt) noexcept {
  const owner_scope hold(self);
  void* const block = attempt(self);
  if (self.sites != nullptr && block != nullptr) [[unlikely]] {
    static_cast<void>(threads::note_site(self, block, bytes, site));
  }
  return block;
}

// Calls `attempt` on the calling thread's heap, and again if shared heaps had memory.
template <class Attempt>
void* with_heap(heap_front* front, std::size_t bytes, std::size_t alignment, const void* site,
                Attempt attempt) noexcept {
  heap* const self = threads::ready(front);
  if (self == nullptr) return nullptr;
  if (self->policy.is_guarded_object()) [[unlikely]] {
    return threads::allocate_guarded(*self, bytes, alignment, site);
  }
  void* const block = with_owner(*self, bytes, site, attempt);
  if (block == nullptr && return_shared_memory(*self)) [[unlikely]] {
    return with_owner(*self, bytes, site, attempt);
  }
  return block;
}

}  // namespace

namespace {

void* take(heap_front* front, size_class index, std::size_t alignment, const void* site) noexcept {
  return with_heap(front, size_of(index), alignment, site, [=](heap& self) { return self.allocate(index); });
}
void* take_large(heap_front* front, std::size_t bytes, std::size_t alignment, bool* zeroed, const void* site) noexcept {
  return with_heap(front, bytes, alignment, site,
                   [=](heap& self) { return self.allocate_large(bytes, alignment, zeroed); });
}

}  // namespace

void* allocate_slow(heap_front* front, size_class index) noexcept {
  return take(front, index, block_alignment, __builtin_return_address(0));
}

void* allocate_large(heap_front* front, std::size_t bytes, std::size_t alignment, bool* zeroed) noexcept {
  return take_large(front, bytes, alignment, zeroed, __builtin_return_address(0));
}

void* allocate_any(heap_front* front, std::size_t bytes, std::size_t alignment) noexcept {
  // A slab starts on a unit, so its blocks cannot have a larger alignment than a unit.
  if (alignment <= pages::unit_bytes && bytes <= largest_class_size) {
    const size_class index = alignment <= block_alignment ? class_of(bytes) : class_of(bytes, alignment);
    if (index < class_count) {
      if (!is_empty(front->top[index])) [[likely]] {
        return allocate(front, index);
      }
      void* const block = take(front, index, alignment, __builtin_return_address(0));
      mark_allocated(block, size_of(index));
      note_allocated(block);
      return block;
    }
  }
  return take_large(front, bytes, alignment, nullptr, __builtin_return_address(0));
}

namespace {

// Frees a block of a size class. The heap need not be ready. `key` is not the owner's any more if this thread gets its
// heap here, and another thread has adopted the slab since the caller read it: the heap may be the one that lost the
// slab.
[[gnu::noinline]] void free_small(heap_front* front, void* block, std::uintptr_t key, size_class expected_class,
                                  const void* site) noexcept {
  heap* const self = threads::ready(front);
  if (self == nullptr) {
    return;  // the block is leaked: there is no heap of the process, which only a failed start can cause
  }
  if (self != front) key = key_of<__ATOMIC_ACQUIRE>(block);
  if (threads::is_guarded(key)) [[unlikely]] {
    threads::deallocate_guarded(front, block, expected_class, site);
    return;
  }
  const size_class index = heaps::class_in(key);
  if ((key ^ self->address()) != index) {
    self->deallocate_remote(block, key);
  } else {
    const owner_scope hold(*self);
    if (self->sites != nullptr) [[unlikely]] {
      threads::note_free(*self, block, site);
    }
    self->deallocate(block, index);
  }
}

// Handles all other frees. `expected_class` is the class that the caller expects; class_count: any.
[[gnu::noinline]] void free_uncommon(heap_front* front, void* block, size_class expected_class,
                                     const void* site) noexcept {
  if (block == nullptr) return;
  const std::uintptr_t key = key_of<__ATOMIC_ACQUIRE>(block);
  if (threads::is_guarded(key)) [[unlikely]] {
    threads::deallocate_guarded(front, block, expected_class, site);
    return;
  }
  if (heaps::class_in(key) == pages::large_mark && expected_class == class_count) [[likely]] {
    pages::slab* const home = pages::page_map::slab_of(block);
    if (home->start == block) [[likely]] {
      heap* const owner = heaps::owner_in(key);
      heaps::check_strict(*owner, block);
      owner->deallocate_large(home, front == owner);
      return;
    }
  }
  const heaps::found_block target = heaps::find_block("free", block);
  if (expected_class != class_count && expected_class != target.index) [[unlikely]] {
    base::fault_wrong_size(block, threads::sizes_of(expected_class), target.home->bytes);
  }
  if (target.is_large()) {
    heaps::check_strict(*target.owner, block);
    target.owner->deallocate_large(target.home, front == target.owner);
  }
}

// Rare cases are in functions of their own, so that the usual remote free saves no register.
[[gnu::always_inline]] inline void free_any(heap_front* front, void* block, size_class expected_class,
                                            const void* site) noexcept {
  const std::uintptr_t key = key_of<__ATOMIC_ACQUIRE>(block);  // acquire: page_map::set says why
  const size_class index = heaps::class_in(key);
  // The key alone identifies the usual case. The slab's description is not read: its owner writes it, so a read here
  // would cost both threads a cache miss.
  if (key == 0 || index >= class_count || (expected_class != class_count && expected_class != index) ||
      !pages::may_start_at(block, index)) [[unlikely]] {
    free_uncommon(front, block, expected_class, site);
    return;
  }
  if constexpr (checks_frees) {
    if (!heaps::marks_blocks) {  // otherwise the drop-in has already checked the block
      note_free(block);
    }
  }
  auto* const self = static_cast<heap*>(front);
  // Where blocks are guarded, all heaps are closed.
  if (front == &heaps::no_heap || self->policy.is_closed() || (key ^ self->address()) == index) {
    free_small(front, block, key, expected_class, site);
  } else {
    self->deallocate_remote(block, key);
  }
}

}  // namespace

void deallocate_slow(heap_front* front, void* block, size_class index) noexcept {
  free_any(front, block, index, __builtin_return_address(0));
}
void deallocate_slow(heap_front* front, void* block) noexcept {
  free_any(front, block, class_count, __builtin_return_address(0));
}

void report_two_threads(const heap_front* front) noexcept {
  base::fault_two_threads(static_cast<const heaps::heap*>(front)->name, __builtin_return_address(0),
                          platform::thread_number());
}

void report_double_free(const void* block) noexcept {
  const std::uintptr_t key = key_of<__ATOMIC_ACQUIRE>(block);
  const heap& owner = *heaps::owner_in(key);
  base::block_record record;
  if (owner.sites != nullptr && threads::find_free(owner, block, record)) base::fault_double_free("free", record);
  base::fault_double_free("free", block, size_of(heaps::class_in(key)));
}

}  // namespace tarn::detail
