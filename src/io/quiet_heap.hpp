// Calls of the global heap, heard by the quiet regions of a thread. Only in builds with checks.
#pragma once

namespace tarn::quiet_heap {

/// `name` is that of the function; its call returns to `caller`.
using heap_listener = void (*)(const char* name, const void* caller) noexcept;

void listen(heap_listener new_listener) noexcept;
/// Is true while the listener hears the heap calls of the calling thread.
extern constinit thread_local bool is_heard;

/// Returns true if the program's malloc is one that can be heard.
bool is_ours() noexcept;

}  // namespace tarn::quiet_heap
