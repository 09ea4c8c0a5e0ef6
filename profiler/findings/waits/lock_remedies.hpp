// Says what to do about locks.
#pragma once

#include <cstdint>
#include <string>

#include "profiler/findings/waits/locks.hpp"

namespace tarn::analyse {

// Returns one line; empty if there is nothing to gain. `wall_ns` is the time that the program ran.
std::string remedy_for(const lock_group& group, std::uint64_t wall_ns);
// Returns the remedy for a contended lock of the program.
std::string contended_remedy(const lock_group& group);

}  // namespace tarn::analyse
