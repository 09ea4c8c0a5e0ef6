// The shared region, seen from the recorded program (format/region.hpp has its layout).
#pragma once

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
format::region_header& header() noexcept;

// Zeroed memory in the region, aligned to 16 bytes; 0 when it is full.
format::offset hand_out(std::size_t bytes) noexcept;
template <class Record>
Record* at(format::offset place) noexcept {
  return reinterpret_cast<Record*>(reinterpret_cast<char*>(&header()) + place);
}

// Whether this process is the recorded one, and not a child that fork made: such a child records nothing, as it
// shares the region with its parent.
bool is_recorded() noexcept;

}  // namespace tarn::record
