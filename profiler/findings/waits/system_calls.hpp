// Analyses the system calls of a recording: the code that makes them, and the remedies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/format/recording.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

enum class call_category {
  small,     // many calls that move few bytes each: use a buffer
  repeated,  // many calls with equal arguments, mostly with equal answers: use a cache
  batch,     // many calls of one kind in a row
  memory,    // calls of the heap, which requests memory and gives it back
  waits,     // waits for other threads, time or events
  needed,    // none of the above
};
const char* name(call_category category);

// All calls of one number from one function of the program, or of a library other than the C library.
struct call_site {
  std::uint32_t site = 0, number = 0;  // `site`: the one with the most of the calls
  std::uint32_t stacks = 0;            // number of sites
  std::string name;
  format::call_counts sums{};  // sums over all threads
  double error = 0;  // relative error of the count, not exceeded in 95 of 100 recordings; 0 if all were counted
  bool is_lower_bound = false;  // the calls that were seen all counted once, and windows may have missed further ones
  std::uint64_t nanoseconds = 0;
  std::uint32_t threads = 0;
  bool may_have_more_threads = false;  // as of thread_count
  call_category category = call_category::needed;
  std::string remedy;  // one line; empty if there is nothing to gain, or less than 0.5 % of the CPU time
};

// A call that had not returned when the recording ended. Its time is in no sum.
struct unfinished_call {
  std::uint32_t site = 0, thread = 0;
  std::string name;
  std::uint64_t nanoseconds = 0;  // so far
};

struct call_findings {
  std::uint64_t calls = 0, nanoseconds = 0;
  double error = 0;                         // as of a site; not 0 where windows may have missed calls
  std::vector<call_site> sites;             // the most calls first
  std::vector<unfinished_call> unfinished;  // the longest first

  bool has_remedy() const {
    return std::any_of(sites.begin(), sites.end(), [](const call_site& site) { return !site.remedy.empty(); });
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>
      index_by_site;  // index in `sites`, by site and call number
  // Returns null for a call that belongs to no site.
  const call_site* site_of(std::uint32_t site, std::uint32_t number) const {
    const auto match = index_by_site.find({site, number});
    return match == index_by_site.end() ? nullptr : &sites[match->second];
  }
};

// These return whether a call reads or writes data, at the current position or at a given one.
bool is_reading(std::string_view name);
bool is_writing(std::string_view name);

call_findings find_calls(const format::recording& recording);
// Changes the remedy for signals that the C library sets where a thread begins or ends, and removes that for a loop
// where the loop is one of the C++ library, before it waits.
void advise_threads(call_findings& findings, const format::recording& recording, symbols& symbols);

// Scales the estimated counts of calls that read, and of those that write, to the kernel's own count of both, where
// that is known and agrees with them. Their errors become smaller, but not 0: calls of other sites may be among them.
format::recording reconcile_calls(format::recording recording);

}  // namespace tarn::analyse
