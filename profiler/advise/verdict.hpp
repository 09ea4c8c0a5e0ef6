// Judges whether a change of the program is worthwhile: for the heap, the locks and the system calls of a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/advise/analysis.hpp"

namespace tarn::analyse {

enum class judged_source { heap, locks, calls };
const char* name(judged_source source);

enum class judgement {
  worth_doing,  // at least 1 % of the CPU time, or of the run's time for locks; or that time is unknown
  unpredicted,  // has remedies whose savings are unknown
  little,       // less than that
};
const char* name(judgement judgement);

// The gain from the remedies of one source. A source without a remedy has no verdict.
struct verdict {
  judged_source source = judged_source::heap;
  judgement judged = judgement::unpredicted;
  std::size_t remedies = 0;        // sites, groups of locks or calls whose remedies are counted here
  range saved_ns;                  // CPU time, of heap and calls
  bool is_at_least = false;        // the remedies also save work that no recording shows
  std::uint64_t waited_ns = 0;     // by all threads for the locks that have a remedy
  std::uint64_t held_ns = 0;       // the part of it in which another thread had the lock: the most that a remedy saves
  std::size_t waiters = 0;         // threads that waited for them
  std::uint32_t site = 0;          // of the recording: where threads wait longest for a lock
  std::uint64_t idle_wakeups = 0;  // of threads that then waited for the same condition variable again, at least
  std::uint32_t idle_site = 0;     // where they waited
  // Threads that still waited for these locks when the recording ended, and those of them in a deadlock.
  std::size_t still_waiting = 0, in_deadlock = 0;
};

// Returns the verdicts, the largest gain first: worthwhile changes, then those without a prediction, then the rest.
std::vector<verdict> verdicts_of(analysis& analysis);

}  // namespace tarn::analyse
