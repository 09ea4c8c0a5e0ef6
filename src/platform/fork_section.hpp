// Decides whether the handlers of a fork take their locks.
//
// The handler before the fork takes locks, so that the child's copy of the guarded data is consistent; the handlers
// after the fork release them. They must not take the locks in two cases:
//   - The process has one thread. Only this thread can hold a lock: a signal interrupted it inside malloc, and the
//     signal's handler forks. The child returns from that handler, too, and finishes the call.
//   - A handler of a fork forks. Its thread has the locks already, and keeps them until the outer fork is over.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::platform {

/// Serves one set of locks that is taken around a fork; its functions are called by the three handlers of
/// pthread_atfork.
class fork_section {
 public:
  constexpr fork_section() noexcept = default;

  /// Before the fork: true if the caller must take the locks, and then call note_owner().
  [[nodiscard]] bool enter() noexcept {
    if (is_mine()) {
      ++depth_;
      return false;
    }
    return !is_only_thread();
  }
  void note_owner() noexcept { owner_.store(thread_token(), std::memory_order_relaxed); }

  /// After the fork, in the parent: true if the caller must release the locks.
  [[nodiscard]] bool leave() noexcept {
    if (!is_mine()) return false;
    if (depth_ != 0) {
      --depth_;
      return false;
    }
    owner_.store(0, std::memory_order_relaxed);
    return true;
  }

  /// After the fork, in the child: true if the caller must reset the locks. It does that only once: if a handler of a
  /// fork forked, the child needs no lock for the rest of the outer fork.
  [[nodiscard]] bool leave_in_child() noexcept {
    if (!is_mine()) return false;
    depth_ = 0;
    owner_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  // relaxed: only the holder of the locks writes the word, so only the holder can find its own number there.
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == thread_token(); }

  std::atomic<std::uintptr_t> owner_{0};  ///< thread_token of the thread that holds the locks and forks
  unsigned depth_ = 0;                    ///< nested forks: a handler of the fork may fork
};

}  // namespace tarn::platform
