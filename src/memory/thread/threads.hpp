// Decides which heap is current: a thread gets a heap when it first allocates, and gives it up when it ends.
#pragma once

#include <span>

#include "memory/heap/heap.hpp"

namespace tarn::threads {

/// Gives the calling thread a heap if it has none yet. Returns null without memory for it.
heaps::heap* start() noexcept;

/// Returns the heap behind `front`, which is a value of detail::local_heap; if there is none, the heap that start()
/// returns.
inline heaps::heap* ready(detail::heap_front* front) noexcept {
  return front != &heaps::no_heap ? static_cast<heaps::heap*>(front) : start();
}

/// Returns a large block from the cache of the heap behind `front`; null if it has none.
inline void* take_cached_large(detail::heap_front* front, std::size_t bytes) noexcept {
  return front != &heaps::no_heap ? static_cast<heaps::heap*>(front)->take_cached_large(bytes) : nullptr;
}

/// Returns the heap that any thread may use, under its own lock. Ending threads, threads without a heap, and
/// tarn::process_heap() use it. Returns null if the process has no memory at all.
heaps::heap* process_heap() noexcept;

/// Returns the heaps, beside that of the process, that several threads use under their locks: threads beyond the option
/// thread_heaps. Callers run initialise() first.
std::span<heaps::heap* const> heaps_of_several() noexcept;

/// Counts the threads with heaps of their own anew in a forked child, which has one thread.
void count_threads_of_child() noexcept;

/// Returns the calling thread's own heap, even while another is current; null if it has none. Callers run
/// initialise() first.
heaps::heap* own_heap() noexcept;

/// Sets up page map, spaces, options and fork handlers, once. Any thread may call it at any time. Returns false without
/// memory.
bool initialise() noexcept;

/// Does so as early as the loader allows: before other constructors start threads or install fork handlers
/// (memory/thread/fork.cpp). The drop-in runs before the C library's own constructor, which sets `environ`.
[[gnu::constructor(101)]] void start_engine(int, char**, char** environment_entries) noexcept;

}  // namespace tarn::threads
