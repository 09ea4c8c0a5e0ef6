// Analyses the heap events of a recording: each site gets a category and a remedy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

enum class heap_category {
  same_thread,   // the allocating thread frees each block
  cross_thread,  // other threads free blocks
  start_up,      // allocated before the second thread and not freed while others ran: perhaps read by all threads
  kept,          // in use at the end, whenever allocated
};
constexpr std::size_t category_count = 4;
const char* name(heap_category category);

struct handover {
  std::uint32_t allocating_thread, freeing_thread;
  std::uint64_t blocks;
};

struct site {
  std::uint32_t number = 0;  // the number of the site in the recording
  heap_category category = heap_category::kept;
  format::heap_counts sums{};  // sums over all threads
  std::uint64_t freed_by_same_thread = 0, remote_frees = 0;
  double error = 0;               // relative error of its block count, not exceeded in 95 of 100 recordings
  std::uint64_t live = 0;         // blocks in use at the end; an exec ends those of the program before
  std::uint64_t live_bytes = 0;   // their bytes, as requested
  std::uint64_t peak_blocks = 0;  // blocks in use when the process had the most bytes in use
  std::uint64_t peak_bytes = 0;
  std::uint64_t short_lived = 0;                  // blocks that the owner freed before it allocated 64 more
  std::uint32_t threads = 0;                      // number of threads that allocate here
  bool may_have_more_threads = false;             // as of thread_count
  std::vector<handover> handovers;                // pairs of different threads, the most frequent first
  bool has_grown = false;                         // its names show a container that outgrows its buffer (allocation_at)
  std::uint32_t element_bytes = 0;                // size of that container's elements; 0: unknown
  std::vector<std::uint32_t> allocating_threads;  // the allocating threads, in order
  std::vector<std::uint32_t> merged_sites;        // further sites of the recording that the sums include

  // Returns the number of blocks that nobody freed, also if they ended with a program that became another by exec.
  std::uint64_t unfreed() const {
    const std::uint64_t blocks = sums[format::blocks];
    return blocks - std::min(blocks, freed_by_same_thread + remote_frees);
  }
};

// Returns whether 90 % of the blocks that the owners freed were short-lived.
bool is_short_lived(const site& site);
// Returns true if half of the blocks or more were in use at once, when the process had the most bytes in use: they form
// a structure, whichever thread frees it in the end. Returns false if the peak is not known.
bool is_accumulated(const site& site);
// Adds the sums of `addend` to `sum`, as if all blocks had come from one stack. Keeps the category of `sum`.
void add_site(site& sum, const site& addend);

struct heap_findings {
  std::uint64_t allocations = 0, frees = 0, bytes = 0, live = 0;
  std::uint64_t ended_blocks = 0;  // blocks that ended with a program before an exec
  std::uint64_t unknown = 0;       // frees of blocks from before the recording
  std::uint64_t dropped = 0;       // dropped events, which these figures do not include
  std::vector<site> sites;         // the most allocations first
};

// If `recording` is a part of the recording `whole`, the categories are those of the whole: a block that only outlives
// the part does not count as kept.
heap_findings find(const format::recording& recording, const format::recording* whole = nullptr);

// Sites with fewer allocations get no suggestion.
constexpr std::uint64_t min_allocations = 1000;

// Returns the whole stack, innermost first, including inlined functions.
std::vector<code_location> frames_of(const format::recording& recording, const site& site, symbols& symbols);

// Returns the stack without the allocator's frames at its inner end (malloc, operator new, the library code that
// calls them), so that the first frame is the code to change.
std::vector<code_location> stack_of(std::vector<code_location> frames);

}  // namespace tarn::analyse
