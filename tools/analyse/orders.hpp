// In which order threads take locks: what could deadlock, and who waited for a holder that waited itself.
#pragma once

#include <cstdint>
#include <vector>

#include "format/recording.hpp"

namespace tarn::analyse {

// Somewhere a thread takes `takes` while it holds `holds`.
struct order_step {
  std::uint32_t holds = 0, takes = 0;           // locks of the recording
  std::uint32_t held_site = 0, taken_site = 0;  // where it had acquired the one, and acquires the other
  std::uint64_t times = 0;
  std::vector<std::uint32_t> threads;  // in order
};

// Locks that are taken in a circle: two in both orders, or more of them. If the steps happen at once, each thread waits
// for the next one, for ever.
struct inversion {
  std::vector<order_step> steps;  // each holds what the one before takes
  bool by_one_thread = false;     // all steps: then it needs another thread that does the same
  std::uint32_t alike = 1;        // of other locks, with the same first uses and at the same places: counted here
};

// A thread waits for a lock, whose holder waits for the next one.
struct chain_link {
  std::uint32_t lock = 0;
  std::uint32_t thread = 0, site = 0;         // that waits, and where
  std::uint32_t holder = 0, holder_site = 0;  // that held it then, and where that had acquired it
  std::uint64_t waits = 0,
                nanoseconds = 0;  // of the first: all with that holder; of others: while it held the lock before
};
struct wait_chain {
  std::vector<chain_link> links;  // two at least
  std::uint64_t nanoseconds = 0;  // that the first may have waited for the last: at most this
};

struct order_findings {
  std::vector<inversion>
      inversions;  // by several threads first, two locks first; then by how often the rarest step happened
  std::vector<wait_chain> chains;  // the longest first
  std::uint64_t beyond = 0;        // that were counted without their locks: more pairs than the recorder keeps
};

// Not an inversion: what another lock, held around all of it and not as a reader, keeps from happening at once; and
// locks that were only ever taken as one of several readers.
order_findings find_orders(const format::recording& in);

}  // namespace tarn::analyse
