// Analyses the order in which threads take locks: possible deadlocks, and waits for a holder that itself waited.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// A thread takes `takes` while it holds `holds`.
struct order_step {
  std::uint32_t holds = 0, takes = 0;           // locks of the recording
  std::uint32_t held_site = 0, taken_site = 0;  // where it acquired the first, and acquires the second
  std::uint64_t times = 0;
  std::vector<std::uint32_t> threads;  // in order
};

// Locks that threads take in a cycle: two locks in both orders, or a longer cycle. If the steps happen at the same
// time, each thread waits for the next one forever.
struct inversion {
  std::vector<order_step> steps;     // each step holds the lock that the step before takes
  bool has_one_thread = false;       // one thread does all steps: a deadlock needs another thread that does the same
  bool is_deadlock = false;          // when the recording ended, a thread was in the middle of each step
  std::uint32_t similar_cycles = 1;  // cycles counted here: other locks, same first uses, same sites
};

// A thread waits for a lock whose holder waits for the next lock.
struct chain_link {
  std::uint32_t lock = 0;
  std::uint32_t thread = 0, site = 0;         // the waiting thread, and where it waits
  std::uint32_t holder = 0, holder_site = 0;  // the holder at that time, and where it had acquired the lock
  std::uint64_t waits = 0,
                nanoseconds = 0;  // first link: all waits for that holder; others: waits while it held the lock before
};
struct wait_chain {
  std::vector<chain_link> links;  // at least two
  std::uint64_t nanoseconds = 0;  // upper bound of the time that the first thread waited because of the last
};

struct order_findings {
  std::vector<inversion>
      inversions;                  // deadlocks first, several threads, then two locks, then by the rarest step's count
  std::vector<wait_chain> chains;  // the longest first
  std::uint64_t unattributed = 0;  // orders counted without their locks: more pairs than the recorder keeps
};

// Finds inversions and wait chains. A cycle is no inversion if another lock, held exclusively around all of it, keeps
// its steps from happening at the same time. Locks that were only ever taken as one of several readers form no
// inversion either.
order_findings find_orders(const format::recording& recording);

}  // namespace tarn::analyse
