// Threads that use the heaps at once. Each actor is a loop that ends when `is_over` is set, and that rests between
// two rounds when it is asked to.
#pragma once

#include <atomic>
#include <cstdint>

#include "blocks.hpp"

namespace soak {

inline constexpr std::size_t slot_count = 1024;
/// The blocks that any thread may take and put back.
extern std::atomic<header*> slots[slot_count];
extern std::atomic<bool> is_over;

/// Counts the events, so that a run can tell that it tried everything.
struct events {
  std::atomic<std::uint64_t> operations{0}, threads{0}, cancelled{0}, forks{0}, releases{0}, signals{0}, sleeps{0};
};
extern events event_counts;

/// Describes the permitted actions of an episode.
struct cast_options {
  std::uint64_t seed = 1;
  bool may_fork = true;       ///< the kernel and its limits allow children
  bool sends_signals = true;  ///< a timer sends a signal each millisecond
};

/// Lets the C library load the code for a thread's early end: without memory for it, it ends the process.
void load_unwinder();
/// Starts all actors; fewer where the system refuses threads. The caller is none of them.
void start_actors(const cast_options& options);
/// Ends all actors, and frees all blocks.
void end_actors();
/// Runs `inspect` while all actors rest, and neither a slot nor a heap object has a block.
void inspect_at_rest(void (*inspect)());
/// Does some rounds of a worker's work in the calling thread.
void work(random& dice, int steps);
void empty_slots(random& dice);

}  // namespace soak
