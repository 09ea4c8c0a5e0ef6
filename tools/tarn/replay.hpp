// Excerpts of a recording repeated, with the program's allocator and with remedies (analyse/replay.hpp).
#pragma once

#include <vector>

#include "analyse/replay.hpp"

namespace tarn::command {

// In the calling process, whose malloc is the C library's. Those of a process that is `alone` come first: the others
// begin with a second thread. Some tens of milliseconds each. Throws a usage failure where steps contradict one
// another.
std::vector<analyse::replayed> replay(std::vector<analyse::replay_job> jobs);

}  // namespace tarn::command
