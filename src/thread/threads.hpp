// Whose heap is current: threads get a heap when they first allocate, and leave
// it when they end.
#pragma once

#include "heap/heap.hpp"

namespace tarn::threads {

/// Gives the calling thread a heap if it has none yet. Null when there is no memory for it.
heaps::heap* start() noexcept;

/// The heap behind `at`, a value of detail::local, or start()'s.
inline heaps::heap* ready(detail::heap_front* at) noexcept {
  return at != &heaps::nobody ? static_cast<heaps::heap*>(at) : start();
}

/// The heap that any thread may use, under its own lock: what the dying and the
/// heapless use, and tarn::global(). Null when the process has no memory at all.
heaps::heap* process_heap() noexcept;

/// The calling thread's own heap, even while another is current; null if it has
/// none. After initialise().
heaps::heap* own_heap() noexcept;

/// Sets up page map, spaces, options and fork handlers, once; any thread, any
/// time. False when there is no memory.
bool initialise() noexcept;

}  // namespace tarn::threads
