// Finds the system calls that threads make while they hold a contended lock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profiler/findings/locks.hpp"
#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// Returns the functions at a frame of an image, inlined ones first, as symbols::resolve does.
using resolve_function = std::function<std::vector<code_location>(std::uint32_t image, std::uint64_t frame)>;

// Sets `calls_inside` of the locks that are held long, and their remedies. A recording does not show which locks were
// held during a call. A call counts as inside if it comes after the acquisition in the same function with the same
// callers, by the same threads, and if such calls together take most of the time that the lock is held, and no more.
void add_calls_inside(lock_findings& findings, const format::recording& recording, const resolve_function& resolve);

}  // namespace tarn::analyse
