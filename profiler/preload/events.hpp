// Counts the program's heap events. Each function is called beside the allocator's, from any thread.
#pragma once

#include <cstddef>

#include "profiler/preload/live_blocks.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Subtracts the cost of the bytes from the distance to the calling thread's next sample. Returns false when a sample
// is due, or when the thread has no counts yet; the caller must then call allocated(), which decides. It costs a few
// instructions.
inline bool passes(std::size_t bytes) noexcept {
  format::thread_record* const counts = own_counts;
  if (counts == nullptr) [[unlikely]]
    return false;
  const std::int64_t left = counts->until_sample.load(std::memory_order_relaxed) - cost_of(bytes);
  counts->until_sample.store(left, std::memory_order_relaxed);
  if (left < 0) [[unlikely]]
    return false;
  add(counts->allocations, 1);
  return true;
}

// Counts a block that was just allocated; does nothing when `block` is null. `charged::yes` means that a passes()
// that returned false has subtracted the cost already; otherwise allocated() subtracts it.
enum class charged : bool { no, yes };
void allocated(const void* block, std::size_t bytes, const caller& caller, charged charge) noexcept;
// Returns `yes` when a passes() that returns false has subtracted the cost. Ask before the allocator is called.
inline charged is_charged() noexcept { return own_counts != nullptr ? charged::yes : charged::no; }

// Counts a block that is about to be freed and removes its record. Null is allowed.
void freed(const void* block, const caller& caller) noexcept;

// Count a realloc that has a block to resize, in two halves. `before_resize` removes the block's record, as another
// thread may get the address as soon as the allocator has it. `after_resize` counts a free of the old block and an
// allocation of the new one, or restores the record when `new_block` is null.
allocation_record before_resize(const void* block) noexcept;
void after_resize(const allocation_record& record, const void* block, const void* new_block, std::size_t old_bytes,
                  std::size_t bytes, const caller& caller, charged charge) noexcept;

}  // namespace tarn::preload
