// Carries remote frees: slabs with blocks that other threads have freed, and batches of such blocks, travel to their
// owner through an inbox.
#pragma once

#include <atomic>

#include "memory/pages/remote_frees.hpp"
#include "platform/race_detector.hpp"

namespace tarn::heaps {

/// Holds the slabs of one heap in which remotely freed blocks wait, and batches of its blocks. It is a stack: any
/// thread pushes, and a thread that takes gets the whole list. No node is ever popped alone, so there is no ABA
/// problem.
class inbox {
 public:
  using node = pages::inbox_node;

  /// Pushes a slab or a batch. The caller got `must_post` from remote_frees::free_remotely, or holds a slab that it
  /// took out of an inbox, or holds the batch. Any thread may call it.
  void post(node& sent) noexcept { post(sent, sent); }
  /// Pushes a list that is linked by next_sent.
  void post(node& first, node& last) noexcept {
    platform::note_release(this);
    node* head = head_.load(std::memory_order_relaxed);
    do {
      last.next_sent = head;
      // seq_cst: it includes release, so that take_all sees the links and the announced words; and it orders the push
      // before the sender's check of the owner's state (heap::retire says why).
    } while (!head_.compare_exchange_weak(head, &first, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  /// Empties the stack and returns its list, whose nodes the caller must handle, or post again. Any thread may call it.
  node* take_all() noexcept {
    // acquire: pairs with post.
    node* const list = head_.exchange(nullptr, std::memory_order_acquire);
    platform::note_acquire(this);
    return list;
  }

  /// A hint only, because others may post meanwhile. It is seq_cst for heap::retire.
  bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  std::atomic<node*> head_{nullptr};
};

}  // namespace tarn::heaps
