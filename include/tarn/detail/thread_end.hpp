// What a thread still has to do when it ends, arranged from a slow path, so that no fast path meets a thread-local
// object with a destructor.
#pragma once

namespace tarn::detail {

/// Something to be run once, by the thread that asked for it. Part of what it is about.
struct thread_end_task {
  thread_end_task* next;
  void (*run)(thread_end_task*) noexcept;
};

/// Runs `task` when the calling thread ends, among its thread_local destructors, before those of objects that were
/// there already when the thread first asked; in the main thread, on return from main() or exit(). False, and nothing
/// arranged, when the thread is past that point: whatever needs an end must then be ended by the caller at once.
[[nodiscard]] bool at_thread_end(thread_end_task& task) noexcept;

}  // namespace tarn::detail
