// Tasks that a thread runs when it ends. A slow path arranges them, so that no fast path uses a thread-local object
// with a destructor.
#pragma once

namespace tarn::detail {

/// A task to run once, in the thread that asked for it. It is embedded in the object that it concerns.
struct thread_end_task {
  thread_end_task* next;
  void (*run)(thread_end_task*) noexcept;
};

/// Runs `task` when the calling thread ends, among its thread_local destructors, before those of objects that already
/// existed when the thread first called this; in the main thread, on return from main() or exit(). Returns false, and
/// arranges nothing, when the thread is past that point: the caller must then clean up at once.
[[nodiscard]] bool at_thread_end(thread_end_task& task) noexcept;

}  // namespace tarn::detail
