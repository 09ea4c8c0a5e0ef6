// Counts the program's heap events. Each function is called beside the allocator's, from any thread.
#pragma once

#include <cstddef>

#include "profiler/preload/live_blocks.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Subtracts the cost of the bytes from the distance to the calling thread's next sample. Returns false when a sample
// is due, or when the thread has no counts yet; the caller must then call count_allocation(), which decides. It costs a
// few instructions.
inline bool count_unsampled(std::size_t bytes) noexcept {
  format::thread_record* const counts = current_counts();
  if (counts == nullptr) [[unlikely]]
    return false;
  const std::int64_t left = counts->until_sample.load(std::memory_order_relaxed) - cost_of(bytes);
  counts->until_sample.store(left, std::memory_order_relaxed);
  if (left < 0) [[unlikely]]
    return false;
  add(counts->allocations, 1);
  return true;
}

// Counts a block that was just allocated; does nothing when `block` is null. `cost` tells whether a count_unsampled()
// that returned false has subtracted the cost of the bytes already; otherwise count_allocation() subtracts it.
enum class cost_state : bool { pending, subtracted };
void count_allocation(const void* block, std::size_t bytes, const caller& caller, cost_state cost) noexcept;
// Returns the state of the cost after a count_unsampled() that returns false. Call it before the allocator is called.
inline cost_state current_cost_state() noexcept {
  return current_counts() != nullptr ? cost_state::subtracted : cost_state::pending;
}

// Counts a block that is about to be freed and removes its record. Null is allowed.
void count_free(const void* block, const caller& caller) noexcept;

// Count a realloc that has a block to resize, in two halves. `begin_resize` removes the block's record, as another
// thread may get the address as soon as the allocator has it. `finish_resize` counts a free of the old block and an
// allocation of the new one, or restores the record when `new_block` is null.
allocation_record begin_resize(const void* block) noexcept;
void finish_resize(const allocation_record& record, const void* block, const void* new_block, std::size_t old_bytes,
                   std::size_t bytes, const caller& caller, cost_state cost) noexcept;

}  // namespace tarn::preload
