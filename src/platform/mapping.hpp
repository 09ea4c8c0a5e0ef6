// Mappings between guards, for linux.cpp and fake/platform.cpp: only the system calls. platform.hpp states the contract
// of the functions.
//
// A guard is inaccessible address space, which costs no memory. It lies on both sides of a mapping, so that a write
// past the end of one mapping does not reach the next one.
#pragma once

#include <cstddef>

#include "platform/counters.hpp"

namespace tarn::platform::mapping {

/// Makes a mapping between guards. `wish` is the address to try first.
void* make(call_counters& counters, std::size_t bytes, std::size_t alignment, void* wish) noexcept;
void destroy(call_counters& counters, void* start, std::size_t bytes) noexcept;
bool resize(call_counters& counters, void* start, std::size_t old_bytes, std::size_t new_bytes) noexcept;
bool move(call_counters& counters, void* start, std::size_t bytes, void* target, std::size_t target_bytes) noexcept;
bool move_part(call_counters& counters, void* start, std::size_t bytes, void* target,
               std::size_t target_bytes) noexcept;
void* reserve(call_counters& counters, std::size_t bytes) noexcept;
bool open(call_counters& counters, void* start, std::size_t bytes) noexcept;
bool close(call_counters& counters, void* start, std::size_t bytes) noexcept;

}  // namespace tarn::platform::mapping
