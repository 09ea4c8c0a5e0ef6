// What a recording says of the heap: its sites, each with a category and a remedy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

enum class category {
  transient,  // each block freed by the thread that allocated it
  shared,     // blocks freed by other threads
  start_up,   // from before the second thread, and not freed while others ran: read-only shared, perhaps
  kept,       // in use at the end, from whenever
};
const char* name(category of);

struct pair {
  std::uint32_t allocates, frees;  // threads
  std::uint64_t blocks;
};

struct site {
  std::uint32_t number = 0;  // in the recording
  category is = category::kept;
  format::counts sums{};  // over all threads
  std::uint64_t freed_by_same_thread = 0, freed_by_other_thread = 0;
  double error = 0;                       // of its number of blocks, in 95 of 100 recordings at most this share of it
  std::uint64_t live = 0;                 // blocks in use at the end
  std::uint64_t short_lived = 0;          // freed by the owner before it allocated 64 more
  std::uint32_t threads = 0;              // that allocate here
  std::vector<pair> pairs;                // of different threads, the most frequent first
  bool grows = false;                     // by its names: a container that outgrows its buffer (made_at)
  std::vector<std::uint32_t> allocating;  // which threads, in order
  std::vector<std::uint32_t> others;      // further sites of the recording whose sums these are, too
};

// Whether 90 % of what the owners freed was short-lived.
bool is_short_lived(const site& of);
// As if the blocks of both had come from one stack. Keeps the category of `to`.
void add_site(site& to, const site& more);

struct heap_findings {
  std::uint64_t allocations = 0, frees = 0, bytes = 0, live = 0;
  std::uint64_t unknown = 0;    // frees of blocks from before the recording
  std::uint64_t forgotten = 0;  // events that are not in these figures
  std::vector<site> sites;      // the most allocations first
};

// `whole`: of which `in` is a part; then the categories are those of the whole, as a block that outlives a part is not
// kept for that.
heap_findings find(const format::recording& in, const format::recording* whole = nullptr);

// Below this a site gets no remedy: none pays for the work.
constexpr std::uint64_t least_allocations = 1000;

// All of the stack, innermost first, with the functions that were inlined.
std::vector<place> frames_of(const format::recording& in, const site& of, symbols& by);

// The stack without the allocator's own frames at its inner end (malloc, operator new, what the library allocates
// through): its first place is the code to change.
std::vector<place> stack_of(std::vector<place> frames);

}  // namespace tarn::analyse
