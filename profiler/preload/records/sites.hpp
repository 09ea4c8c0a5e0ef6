// Gives each recorded call stack a number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::preload {

// Call it once before everything else, and again in a child of fork. Returns false when there is no memory.
bool set_up_sites() noexcept;

// Returns the number of the site with these frames; equal frames have the same number. Returns 0 when there is no
// room for another site. It is lock-free for a known site. Stacks are told apart by 64 bits of hash.
std::uint32_t site_of(const std::uintptr_t* frames, std::size_t count) noexcept;

// Notes that the module that contains `function` has `functions` (format::own_malloc, own_new) of its own.
void note_own_malloc(const void* function, std::uint32_t functions) noexcept;

}  // namespace tarn::preload
