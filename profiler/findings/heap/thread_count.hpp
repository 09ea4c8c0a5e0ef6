// Counts the threads that did something, by their rows in the recording.
#pragma once

#include <cstdint>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// A row may stand for several threads, one after the other, and it is not known which of them did it.
struct thread_count {
  std::uint32_t threads = 0;
  bool may_be_more = false;
};

// `rows` are indexes in `threads` of the recording, each once.
template <class Rows>
thread_count count_threads(const format::recording& recording, const Rows& rows) {
  thread_count count;
  for (const std::uint32_t row : rows) {
    ++count.threads;
    if (row < recording.threads.size() && recording.threads[row].predecessors != 0) count.may_be_more = true;
  }
  return count;
}

}  // namespace tarn::analyse
