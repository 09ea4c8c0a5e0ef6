// What is known of each block in use: one word for each 16 bytes of the program's heap, found from the address.
//
// No lock and no search: who has a block is the only one to write its word, and a block that is handed to another
// thread brings its word with it.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/region.hpp"

namespace tarn::record {

// 0 where no block is known to begin.
struct birth {
  std::uint64_t known : 1 = 0;
  std::uint64_t early : 1 = 0;  // before the second thread
  std::uint64_t site : 20 = 0;
  std::uint64_t owner : 14 = 0;     // the thread that allocated it
  std::uint64_t sequence : 28 = 0;  // the owner's number of the allocation, without its high bits
};
static_assert(sizeof(birth) == 8 && format::most_sites == 1U << 20 && format::most_threads < 1U << 14);
constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << 28) - 1;

// Once, before all else. False when there is no address space for it.
bool set_up_blocks() noexcept;

// The block's word; null where no memory could be had for it.
std::atomic<std::uint64_t>* word_of(const void* block) noexcept;
// The same if something was ever noted near there, else null.
std::atomic<std::uint64_t>* known_word_of(const void* block) noexcept;

}  // namespace tarn::record
