// What is known of the blocks in use that were sampled: a table by address, under a lock that is seldom wanted.
#pragma once

#include "record/births.hpp"

namespace tarn::record {

// False when there is no memory for another one. An address that is there already is a block that was freed unseen.
bool note_sampled(const void* block, const birth& born) noexcept;

// Takes it out; one that is not known has the weight 0.
birth take_sampled(const void* block) noexcept;

// Once, before all else, and again in a child of fork: empty.
bool set_up_sampled() noexcept;

}  // namespace tarn::record
