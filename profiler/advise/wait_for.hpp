// Follows waits for locks: a thread waits for a lock, whose holder meanwhile waits for another one, and so on, up to a
// holder that does something else.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "profiler/advise/calls_inside.hpp"
#include "profiler/findings/time/lanes.hpp"

namespace tarn::analyse {

// Holds what the holders of a lock did while others waited for it.
struct held_work {
  lane_state state = lane_state::unknown;
  std::string call;        // the function of the C library, or the system call; empty unless they wait
  std::uint32_t site = 0;  // the stack with most of it; 0: none, or not known
  std::uint64_t ns = 0;    // of the waits: an estimate
};

// Threads wait at one site for a lock that other threads had acquired at one site.
struct wait_for_link {
  std::uint32_t lock = 0, site = 0, holder_site = 0;
  std::set<std::uint32_t> threads, holders;  // by their numbers in the recording
  std::uint64_t waits = 0, ns = 0;           // first link: all waits; others: those while they held the lock before
  std::uint64_t longest_ns = 0;              // of all waits of these threads for these locks at `site`, the longest
  std::uint64_t held_ns = 0;                 // of all holds of these locks from `holder_site`, by these holders
};

struct wait_for_chain {
  std::vector<wait_for_link> links;  // at least one
  std::vector<held_work> work;       // what the last holders did meanwhile, the longest first; empty: not known
};

// Returns the chains whose first threads waited for `min_ns` or more, the longest first. `recording` comes from
// with_cpu_sites(). The lanes tell what a holder did in the intervals in which others waited for it; without them its
// samples or its system calls tell that, in all holds. The recording does not say which locks were held meanwhile: a
// stack counts if it is further down in the function that acquired the lock (acquiring_functions). If there is none,
// and the waits are much longer than the intervals, all that the holder did then counts.
std::vector<wait_for_chain> find_wait_for(const format::recording& recording, const lane_findings& lanes,
                                          const resolve_function& resolve, std::uint64_t min_ns);

}  // namespace tarn::analyse
