// A free list, after a note of Bulka, Mayhew and Michael (about 2008): threads take and give blocks by a
// compare-and-swap on the list's head, which also holds a tag that counts the takes. Without the tag it breaks:
//   1. A reads the head, block a, and the next one, b; A is interrupted.
//   2. B takes a, takes b, gives a back: the head is a again, and b is B's.
//   3. A's compare-and-swap finds a, as it expects, and makes b the head: b is free and B's at once.
// With the tag, the head of step 3 has another tag, and A starts again.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace lab {

template <bool IsTagged>
class free_list {
 public:
  using number = std::uint32_t;  // a block's number, from 1; 0: none
  /// The values that a thread reads before its compare-and-swap.
  struct taking {
    std::uint64_t head;
    number next;
  };

  explicit free_list(number blocks) : next_(std::make_unique<std::atomic<number>[]>(blocks + 1)) {
    for (number block = blocks; block > 0; --block) give(block);
  }

  taking begin_take() const noexcept {
    // acquire: pairs with the release of give(), so that the link of the head's block is visible.
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    return {head, next_[block_of(head)].load(std::memory_order_relaxed)};
  }
  /// Returns true when the block of `started` belongs to the caller now.
  bool end_take(const taking& started) noexcept {
    std::uint64_t expected = started.head;
    const std::uint64_t tag = IsTagged ? (started.head >> 32) + 1 : 0;
    return head_.compare_exchange_strong(expected, tag << 32 | started.next, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  static number block_of(std::uint64_t head) noexcept { return static_cast<number>(head); }

  /// Returns 0 when the list is empty. Calls `meanwhile` between reading and swapping.
  template <class Meanwhile>
  number take(Meanwhile meanwhile) noexcept {
    for (;;) {
      const taking started = begin_take();
      if (block_of(started.head) == 0) return 0;
      meanwhile();
      if (end_take(started)) return block_of(started.head);
    }
  }
  number take() noexcept {
    return take([] {});
  }

  void give(number block) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[block].store(block_of(head), std::memory_order_relaxed);
      // release: the thread that takes the block sees its link.
    } while (!head_.compare_exchange_weak(head, (head >> 32) << 32 | block, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

 private:
  alignas(128) std::atomic<std::uint64_t> head_{0};  // tag << 32 | block
  alignas(128) std::unique_ptr<std::atomic<number>[]> next_;
};

}  // namespace lab
