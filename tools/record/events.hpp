// What the program's heap does, counted: each function is called beside the allocator's, from any thread.
#pragma once

#include <cstddef>

#include "record/births.hpp"
#include "record/stack.hpp"
#include "record/threads.hpp"

namespace tarn::record {

// Takes what the bytes cost off the way to the calling thread's next sample. False when a sample is due, or nothing is
// known of the thread yet: then allocated() is to be called, which finds out. Some instructions.
inline bool passes(std::size_t bytes) noexcept {
  format::thread_record* const counts = own_counts;
  if (counts == nullptr) [[unlikely]]
    return false;
  const std::int64_t left = counts->until.load(std::memory_order_relaxed) - cost_of(bytes);
  counts->until.store(left, std::memory_order_relaxed);
  if (left < 0) [[unlikely]]
    return false;
  add(counts->allocations, 1);
  return true;
}

// Counts a block that was just allocated, or nothing, where `block` is null. `charged`: after passes() has said no;
// otherwise what it does is done here.
enum class charged : bool { no, yes };
void allocated(const void* block, std::size_t bytes, const caller& from, charged how) noexcept;
// Whether passes() that says no has taken the cost off. To be asked before the allocator is called.
inline charged is_charged() noexcept { return own_counts != nullptr ? charged::yes : charged::no; }

// Forgets and counts a block that is about to be freed; null is allowed.
void freed(const void* block) noexcept;

// The two halves of a realloc that has a block to resize. `before` takes what is known of it, as another thread may
// get the address as soon as the allocator has it; `after` counts a free of the old block and an allocation of the new
// one, or gives back what was taken where `made` is null.
birth before_resize(const void* block) noexcept;
void after_resize(const birth& born, const void* block, const void* made, std::size_t old_bytes, std::size_t bytes,
                  const caller& from, charged how) noexcept;

}  // namespace tarn::record
