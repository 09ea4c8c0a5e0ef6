// Working sets: a thread replaces random blocks of its own, or threads pass on their whole sets (server).
#pragma once
#include <array>
#include <atomic>

#include "../work.hpp"

namespace bench {

struct slot {
  void* block = nullptr;
  std::size_t size = 0;
};

using working_set = std::array<slot, 1000>;

/// Frees the block of the slot and returns the word that was in it.
template <class Front>
std::uint64_t empty(Front& front, slot& emptied) {
  if (emptied.block == nullptr) return 0;
  const std::uint64_t value = marked(emptied.block);
  front.deallocate(emptied.block, emptied.size);
  emptied.block = nullptr;
  return value;
}

template <class Front>
std::uint64_t empty(Front& front, working_set& set) {
  std::uint64_t sum = 0;
  for (slot& member : set) sum += empty(front, member);
  return sum;
}

/// Replaces the block of one random slot by one of random size.
template <class Front>
std::uint64_t replace(Front& front, working_set& set, random_numbers& random) {
  const std::uint64_t number = random.next();
  slot& victim = set[draw_below(number, set.size())];
  const std::uint64_t sum = empty(front, victim);
  victim.size = skewed_size(number);
  victim.block = front.allocate(victim.size);
  mark(victim.block, number);
  return sum;
}

/// 1,000 slots for each thread; each step frees the block of a random slot and allocates one of 16 to 1,024 bytes,
/// small ones more often. Unit: one step, that is one free and one allocation.
template <class Front>
std::uint64_t slots(const share& own_share) {
  Front front;
  working_set set;
  random_numbers random(own_share.thread + 1);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) sum += replace(front, set, random);
  return sum + empty(front, set);
}

/// The same, all blocks of one size that is known when the program is compiled.
template <class Front, std::size_t Size>
std::uint64_t fixed_slots(const share& own_share) {
  Front front;
  std::array<void*, 1000> set{};
  random_numbers random(own_share.thread + 1);
  std::uint64_t sum = 0;
  const auto empty_one = [&](void*& block) {
    if (block == nullptr) return;
    sum += marked(block);
    front.template unmake<Size>(block);
  };
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    const std::uint64_t number = random.next();
    void*& victim = set[draw_below(number, set.size())];
    empty_one(victim);
    victim = front.template make<Size>();
    mark(victim, number);
  }
  for (void*& block : set) empty_one(block);
  return sum;
}

/// The server-like mix. Each thread replaces blocks of a working set as `slots` does. After every 4,000 steps it
/// hands the set to the next thread and takes the set of the thread before it. So every fourth free is of a block
/// that another thread allocated, however the threads are scheduled. A thread can be ahead by one set only.
template <class Front>
class server {
 public:
  static constexpr std::uint64_t steps_between_swaps = 4000;

  explicit server(const share& own_share) noexcept
      : set_(&sets[own_share.thread]),
        inbox_(&boxes[own_share.thread]),
        out_(&boxes[(own_share.thread + 1) % own_share.threads]),
        random_(own_share.thread + 1) {}

  /// All threads must do the same number of steps.
  std::uint64_t run(std::uint64_t steps) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < steps; ++i) {
      sum += replace(front_, *set_, random_);
      if (++since_swap_ == steps_between_swaps) swap();
    }
    return sum;
  }

  /// Ends this thread's work.
  std::uint64_t finish() { return empty(front_, *set_); }

 private:
  struct alignas(128) box {
    std::atomic<working_set*> content{nullptr};
  };

  void swap() noexcept {
    since_swap_ = 0;
    for (patience p; out_->content.load(std::memory_order_acquire) != nullptr;) p.wait();
    out_->content.store(set_, std::memory_order_release);
    for (patience p; (set_ = inbox_->content.load(std::memory_order_acquire)) == nullptr;) p.wait();
    inbox_->content.store(nullptr, std::memory_order_release);
  }

  static constexpr unsigned max_threads = 16;
  static inline std::array<working_set, max_threads> sets;
  static inline std::array<box, max_threads> boxes;

  Front front_;
  working_set* set_;
  box* inbox_;
  box* out_;
  random_numbers random_;
  std::uint64_t since_swap_ = 0;
};

/// Unit: one step of one thread.
template <class Front>
std::uint64_t server_mix(const share& own_share) {
  server<Front> worker(own_share);
  const std::uint64_t sum = worker.run(own_share.repetitions);
  return sum + worker.finish();
}

}  // namespace bench
