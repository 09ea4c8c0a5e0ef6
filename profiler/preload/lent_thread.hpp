// Keeps apart a thread and its child of vfork(), which runs in the thread's memory, with the thread's thread-local
// variables, while the thread waits. The kernel dispatches no calls of the child, and restrictions that the child sets
// (seccomp) hold for the child alone.
#pragma once

namespace tarn::preload {

// The state of the calling thread, which its child of vfork() finds and may change.
struct lending {
  bool is_lent = false;        // a child may be running
  bool is_restricted = false;  // the child has restricted its calls: it makes none of ours, and nothing of it counts
};

// Returns true where the calling thread may be such a child, or its parent in the instructions around the call.
bool is_lent() noexcept;

// Call these before and after the calling thread lends its memory; `before` is the result of begin_lending(). A child
// may lend the memory to a child of its own.
lending begin_lending() noexcept;
void end_lending(lending before) noexcept;

// The first stops counting for the calling thread until its memory is no longer lent, or until the second is called.
void restrict_child() noexcept;
void unrestrict_child() noexcept;

}  // namespace tarn::preload
