// Producer to consumer: thread 0 allocates, thread 1 frees, and a ring of pointers connects them.
#pragma once
#include <array>
#include <atomic>

#include "../work.hpp"

namespace bench {

/// A bounded queue for one producer and one consumer. Each side publishes its progress only once for many items. If
/// it published each, chance would decide whether the two run in step, and an item would cost 10 or 100 ns, which
/// hides the allocators' cost.
class ring {
 public:
  void push(void* item) noexcept {
    const std::uint64_t position = pushed_;
    for (patience p; position - read_seen_ == capacity; p.wait()) read_seen_ = read_.load(std::memory_order_acquire);
    items_[position % capacity] = item;
    pushed_ = position + 1;
    if (pushed_ % told_at_once == 0) flush();
  }
  /// Publishes the last items to the consumer.
  void flush() noexcept { written_.store(pushed_, std::memory_order_release); }

  void* pop() noexcept {
    const std::uint64_t position = popped_;
    for (patience p; position == written_seen_; p.wait()) written_seen_ = written_.load(std::memory_order_acquire);
    void* item = items_[position % capacity];
    popped_ = position + 1;
    if (popped_ % told_at_once == 0) read_.store(popped_, std::memory_order_release);
    return item;
  }

 private:
  static constexpr std::uint64_t capacity = 1024;
  static constexpr std::uint64_t told_at_once = 32;
  alignas(128) std::atomic<std::uint64_t> written_{0};
  std::uint64_t pushed_ = 0;     // the producer's own
  std::uint64_t read_seen_ = 0;  // the producer's own
  alignas(128) std::atomic<std::uint64_t> read_{0};
  std::uint64_t popped_ = 0;        // the consumer's own
  std::uint64_t written_seen_ = 0;  // the consumer's own
  alignas(128) std::array<void*, capacity> items_{};
};

inline ring handoff_ring;

/// Blocks of one size. Unit: one block allocated, handed over, read and freed.
template <class Front, std::size_t Size>
std::uint64_t handoff(const share& own_share) {
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    if (own_share.thread == 0) {
      void* block = front.template make<Size>();
      mark(block, i);
      handoff_ring.push(block);
    } else {
      void* block = handoff_ring.pop();
      sum += marked(block);
      front.template unmake<Size>(block);
    }
  }
  if (own_share.thread == 0) handoff_ring.flush();
  return sum;
}

/// Blocks of 16 to 1,024 bytes, small ones more often; the second word holds the size. The unit is the same.
template <class Front>
std::uint64_t random_handoff(const share& own_share) {
  Front front;
  random_numbers random(1);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    if (own_share.thread == 0) {
      const std::size_t size = skewed_size(random.next());
      void* block = front.allocate(size);
      static_cast<std::uint64_t*>(block)[1] = size;
      mark(block, i);
      handoff_ring.push(block);
    } else {
      void* block = handoff_ring.pop();
      sum += marked(block);
      front.deallocate(block, static_cast<std::uint64_t*>(block)[1]);
    }
  }
  if (own_share.thread == 0) handoff_ring.flush();
  return sum;
}

/// The queue alone: blocks of 64 bytes that exist already are written, handed over and read. It allocates nothing, so
/// it shows the queue's share of the rows above. Unit: one block handed over.
inline std::uint64_t queue_alone(const share& own_share) {
  struct alignas(64) line {
    std::uint64_t block_words[8];
  };
  static std::array<line, 4096> lines;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    if (own_share.thread == 0) {
      line& block = lines[i % lines.size()];
      mark(&block, i);
      handoff_ring.push(&block);
    } else {
      sum += marked(handoff_ring.pop());
    }
  }
  if (own_share.thread == 0) handoff_ring.flush();
  return sum;
}

}  // namespace bench
