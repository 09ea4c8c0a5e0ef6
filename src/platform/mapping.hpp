// Mappings between guards, as linux.cpp and fake.cpp both make them: the system calls, and
// nothing else. platform.hpp says what the functions promise.
//
// A guard is address space that nobody may touch. It costs no memory. On both sides of a
// mapping it keeps what runs over the end of one from what lies beyond.
#pragma once

#include <cstddef>

#include "platform/counters.hpp"

namespace tarn::platform::mapping {

/// `wish`: where to look for room first.
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
