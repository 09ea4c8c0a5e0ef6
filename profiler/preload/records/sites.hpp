// Gives each recorded call stack a number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::preload {

// Call it once before everything else, and again in a child of fork. Returns false when there is no memory.
bool set_up_sites() noexcept;

// Returns the number of the site with these frames; equal frames in the same modules have the same number. The frames
// become those that are recorded (modules.hpp). Returns 0 when there is no room for another site. It is lock-free for a
// known site. Stacks are told apart by 64 bits of hash.
std::uint32_t site_of(std::uintptr_t* frames, std::size_t count) noexcept;

}  // namespace tarn::preload
