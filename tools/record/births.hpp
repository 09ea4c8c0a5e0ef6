// What is remembered of a block in use, until it is freed.
#pragma once

#include <cstdint>

namespace tarn::record {

struct birth {
  std::uint32_t weight = 0;  // for how many blocks it stands; 0 where no block is known to begin
  std::uint32_t site = 0;
  std::uint32_t owner = 0;     // the thread that allocated it
  bool early = false;          // before the second thread
  std::uint64_t sequence = 0;  // the owner's number of the allocation
  std::uint64_t time = 0;      // of the processor's clock; 0 where it was not looked at
};

// Once, before all else, and again in a child of fork, for which no block is known. `sampled`: for few of the blocks,
// with any weight; else for each block, of weight 1, with the low 28 bits of `sequence` and without `time`. False when
// there is no address space for it.
bool set_up_births(bool sampled) noexcept;

// False where no memory could be had for it. Who calls has the block, and no other thread does.
bool note_birth(const void* block, const birth& born) noexcept;

// What was noted, forgotten with that.
birth take_birth(const void* block) noexcept;

}  // namespace tarn::record
