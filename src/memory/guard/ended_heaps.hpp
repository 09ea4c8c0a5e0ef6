// Names uses of blocks whose heap object has ended, in builds with checks.
//
// The memory of such a heap goes back to the system, but its addresses stay inaccessible until as many other ranges
// have ended after it. An access faults, and the handler of SIGSEGV finds the range here (memory/guard/samples.hpp
// installs it).
#pragma once

#include <cstddef>

#include "platform/sanitizer.hpp"

namespace tarn::guard::ended_heaps {

/// A sanitizer has a handler of its own, and names such an access itself.
inline constexpr bool are_kept = TARN_CHECKS != 0 && TARN_HAS_SANITIZER == 0;

/// The ranges that are kept. Each may be a mapping of its own for the kernel, which allows 65,530.
inline constexpr std::size_t max_ranges = 1024;

/// Called before the calling thread ends the heap object called `name`.
void note_end(const char* name) noexcept;

/// Does what platform::unmap does, but keeps the addresses of the heap that note_end() has named, unless address space
/// is limited.
void unmap(void* start, std::size_t bytes) noexcept;

/// Reports an access if it is one to a heap that has ended. `is_known`: `is_write` tells the kind of the access.
void fault_if_ended(const void* address, bool is_write, bool is_known, const void* instruction) noexcept;

}  // namespace tarn::guard::ended_heaps
