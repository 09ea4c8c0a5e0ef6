// Which locks the handlers of a fork take, and whether they take them at all.
//
// A handler before the fork takes locks, so that the child's copy of what they guard is whole; the handlers after it
// release them. Two cases must not take them:
//   - The process has one thread. Nobody else can hold a lock. The thread itself can: a signal interrupts it inside
//     malloc, and the handler of the signal forks. The child returns from that handler, too, and finishes the call.
//   - A handler of a fork forks. Its thread has the locks already, and keeps them until the outer fork is over.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::platform {

/// One for each set of locks that is taken around a fork. The three handlers of pthread_atfork ask it.
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
    if (!is_mine()) {
      return false;
    }
    if (depth_ != 0) {
      --depth_;
      return false;
    }
    owner_.store(0, std::memory_order_relaxed);
    return true;
  }

  /// After the fork, in the child: true if the caller must reset the locks. That is final: where the fork was a
  /// handler's, the child needs no lock for what is left of the outer one.
  [[nodiscard]] bool leave_in_child() noexcept {
    if (!is_mine()) {
      return false;
    }
    depth_ = 0;
    owner_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  // relaxed: the word is written by the holder of the locks only, so only its own thread finds itself.
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == thread_token(); }

  std::atomic<std::uintptr_t> owner_{0};  ///< thread_token of the thread that holds the locks and forks
  unsigned depth_ = 0;                    ///< nested forks: a handler of the fork may fork
};

}  // namespace tarn::platform
