// What the program's heap does, counted: each function is called beside the allocator's, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/blocks.hpp"
#include "record/stack.hpp"

namespace tarn::record {

// Counts a block that was just allocated. Not while the calling thread is inside a function of this file.
void allocated(const void* block, std::size_t bytes, const caller& from) noexcept;

// Forgets and counts a block that is about to be freed; null is allowed.
void freed(const void* block) noexcept;

// The two halves of a realloc that has a block to resize. `before` takes its word, as another thread may get the
// address as soon as the allocator has it; `after` counts a free of the old block and an allocation of the new one,
// or gives the word back where `made` is null.
std::uint64_t before_resize(const void* block) noexcept;
void after_resize(std::uint64_t word, const void* block, const void* made, std::size_t old_bytes, std::size_t bytes,
                  const caller& from) noexcept;

// The same for operator new and delete, which may or may not come back to us through malloc and free: a block is
// counted once. `deleting` may be followed by free of the same block, up to `deleted`.
void allocated_by_operator(const void* block, std::size_t bytes, const caller& from) noexcept;
void deleting(const void* block) noexcept;
void deleted() noexcept;

}  // namespace tarn::record
