// What the recorder's library says of its process, in a page that the kernel wipes in each child of fork, however the
// child was made: no handler has to run for that, and none can be too late.
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn::format {

template <class Word>
struct process_words {
  Word is_recorded;  // events are counted now
  // The process has the region itself. A child of fork has only inherited its parent's, and gets one of its own when it
  // is recorded.
  Word has_region;
};
using process_page = process_words<std::atomic<std::uint32_t>>;
using process_states = process_words<std::uint32_t>;  // as they are read from outside
static_assert(sizeof(process_page) == sizeof(process_states));

// The library exports a pointer to the page by this name. It is null until the library is loaded.
constexpr const char* process_page_symbol = "tarn_recorder_page";

}  // namespace tarn::format
