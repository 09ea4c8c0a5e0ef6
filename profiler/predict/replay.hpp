// Repeats the excerpts of a recording with the program's allocator and with remedies (profiler/predict/trace.hpp).
#pragma once

#include <vector>

#include "profiler/predict/trace.hpp"

namespace tarn::command {

enum class replay_scope {
  remedies,  // the current cost and each remedy, in a process whose malloc is the C library's
  now,       // the current cost alone, in fewer rounds, with the malloc of the process
};
// Replays the jobs in the calling process; each takes some tens of milliseconds. Jobs with `has_one_thread` come
// first, because the others begin with a second thread. Throws a failure where steps contradict one another.
std::vector<analyse::replayed> replay(std::vector<analyse::replay_job> jobs, replay_scope scope);

// Plays each variant of a job once, beside each kind of other work, and discards the times. For tests.
void rehearse(const analyse::replay_job& job);

}  // namespace tarn::command
