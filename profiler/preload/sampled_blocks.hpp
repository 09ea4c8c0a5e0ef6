// The live-block table of a sampled recording, by address, under a lock that is seldom contended.
#pragma once

#include "profiler/preload/live_blocks.hpp"

namespace tarn::preload {

// Returns false when there is no memory for another block. An address that is there already is a block whose free was
// not seen.
bool note_sampled(const void* block, const allocation_record& record) noexcept;

// Removes the block and returns its record, which has the weight 0 when the block is not known.
allocation_record take_sampled(const void* block) noexcept;

// Empties the table. Call it once before everything else, and again in a child of fork.
bool set_up_sampled() noexcept;
// Empties it while other threads may use it.
void forget_sampled() noexcept;

}  // namespace tarn::preload
