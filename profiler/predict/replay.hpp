// Repeats the excerpts of a recording with the program's allocator and with remedies (profiler/predict/trace.hpp).
#pragma once

#include <vector>

#include "profiler/predict/trace.hpp"

namespace tarn::command {

// Replays the jobs in the calling process, whose malloc must be the C library's; each takes some tens of
// milliseconds. The jobs of a process that is `alone` come first, because the others begin with a second thread.
// Throws a failure where steps contradict one another.
std::vector<analyse::replayed> replay(std::vector<analyse::replay_job> jobs);

// Plays each variant of a job once, beside each kind of other work, and discards the times. For tests.
void rehearse(const analyse::replay_job& job);

}  // namespace tarn::command
