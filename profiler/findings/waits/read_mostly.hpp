// Finds locks that guard an object which is read often and replaced seldom, as tarn::reloadable<T> serves it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "profiler/findings/waits/stacks.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// The acquisitions of one lock from one call stack.
struct stack_use {
  std::uint64_t acquisitions = 0;
  std::uint64_t reader_acquisitions = 0;
  std::uint64_t holds = 0, held_ns = 0;
  std::set<std::uint32_t> threads;
};
using uses_by_stack = std::map<std::uint32_t, stack_use>;  // by site of the recording

struct read_mostly_use {
  bool is_known = false;           // a reader-writer lock tells reads from writes; for other locks it is presumed
  std::uint64_t reads = 0;         // acquisitions
  std::uint64_t replacements = 0;  // acquisitions
  std::uint64_t read_ns = 0, replacement_ns = 0;  // the mean times for which the lock is held
  std::uint32_t replacing_site = 0;               // the call stack that replaces most often; 0 if none does
  bool allocates_memory = false;                  // the replacing call also allocates memory
};

// Finds a reader-writer lock of which 90 % of the acquisitions are for reading.
std::optional<read_mostly_use> known_reads(const uses_by_stack& uses);

// Presumes that a lock which does not tell reads from writes is taken to read, if these hold together:
// - several threads take it, and 99 % of the acquisitions are short
// - functions with at most 1 % of the acquisitions hold it at least twice as long
// - such a function also allocates memory in the same call, if the recording has the heap
// A recording cannot tell more: a counter that one function increments and another prints looks the same.
std::optional<read_mostly_use> presumed_reads(const format::recording& recording, const uses_by_stack& uses,
                                              own_code& own_frames);

}  // namespace tarn::analyse
