// The shared region, seen from the recorded program (format/region.hpp has its layout).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/region.hpp"

namespace tarn::record {

// Maps the region that the environment names, if this is the process to record. The first call decides; later ones
// cost a load. False: nothing is recorded here. May be called before the C library is ready: false then, and not yet
// decided. Any thread.
bool attach() noexcept;

// In a child that fork made of a process that is recorded: takes a region of its own, in the place of the parent's. To
// be called by its one thread, before it does anything else here. False when children are not recorded, or none is
// left.
bool follow_fork() noexcept;

// After attach(). The image's number; the header.
std::uint32_t image() noexcept;
extern constinit format::region_header* own_region;  // NOLINT(bugprone-dynamic-static-initializers)
inline format::region_header& header() noexcept { return *own_region; }

// Zeroed memory in the region, aligned to 16 bytes; 0 when it is full.
format::offset hand_out(std::size_t bytes) noexcept;
template <class Record>
Record* at(format::offset place) noexcept {
  return reinterpret_cast<Record*>(reinterpret_cast<char*>(&header()) + place);
}

// Whether this process is the recorded one, and not a child that fork made: such a child records nothing, as it
// shares the region with its parent. The word is 1 in the recorded process; the kernel wipes its page in each child of
// a fork, however it was made, so that no handler has to run and none is too late.
extern constinit std::atomic<std::uint32_t>* own_process;  // NOLINT(bugprone-dynamic-static-initializers)
inline bool is_recorded() noexcept { return own_process->load(std::memory_order_relaxed) != 0; }

}  // namespace tarn::record
