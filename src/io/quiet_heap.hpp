// Detects calls of the global heap for the quiet regions of a thread. Only in builds with checks.
#pragma once

namespace tarn::quiet_heap {

/// `name` is that of the function; its call returns to `caller`.
using heap_listener = void (*)(const char* name, const void* caller) noexcept;

void listen(heap_listener new_listener) noexcept;
/// True while the listener is told of the heap calls of the calling thread.
extern constinit thread_local bool is_heard;

/// Returns true if calls of the program's malloc can be detected.
bool is_ours() noexcept;

}  // namespace tarn::quiet_heap
