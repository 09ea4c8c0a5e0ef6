// The call stacks that allocated, each with a number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::record {

// Once, before all else, and again in a child of fork.
bool set_up_sites() noexcept;

// The number of the site with these frames: the same for the same frames. 0 when there is no room for another one.
// Lock-free for a site that is known. Two stacks are told apart by 64 bits of hash.
std::uint32_t site_of(const std::uintptr_t* frames, std::size_t count) noexcept;

// Notes that the module with `function` has `what` (format::own_malloc, own_new) of its own.
void note_own_heap(const void* function, std::uint32_t what) noexcept;

}  // namespace tarn::record
