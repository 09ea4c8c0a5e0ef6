// Blocks that another thread frees: in large batches (xmalloc), as messages, and from many owners in turn.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "../work.hpp"

namespace bench {

/// Batches of blocks on their way from the threads that allocate to those that free, as in xmalloc-test (Lever and
/// Boreham): a stack under one lock, and threads that sleep while it is empty or full.
template <std::size_t Blocks, std::size_t Batches>
class exchange {
 public:
  static constexpr std::size_t blocks_in_batch = Blocks;
  struct batch {
    std::array<void*, blocks_in_batch> blocks;
    batch* next = nullptr;
  };

  exchange() noexcept {
    for (batch& empty_batch : batches_) put(empty_, &empty_batch);
  }
  batch* take_empty() { return take(empty_, changed_empty_); }
  batch* take_full() { return take(full_, changed_full_); }
  void give_empty(batch* item) { give(empty_, item, changed_empty_); }
  void give_full(batch* item) { give(full_, item, changed_full_); }

 private:
  static void put(batch*& stack, batch* item) noexcept {
    item->next = stack;
    stack = item;
  }
  batch* take(batch*& stack, std::condition_variable& changed) {
    std::unique_lock hold(lock_);
    changed.wait(hold, [&] { return stack != nullptr; });
    batch* const top = stack;
    stack = top->next;
    return top;
  }
  void give(batch*& stack, batch* item, std::condition_variable& changed) {
    const std::lock_guard hold(lock_);
    put(stack, item);
    changed.notify_one();
  }

  std::mutex lock_;
  std::condition_variable changed_empty_, changed_full_;
  batch* empty_ = nullptr;
  batch* full_ = nullptr;
  std::array<batch, Batches> batches_;
};

/// The even threads allocate blocks of one size, the odd ones free them; there are as many of these. Unit: one block
/// allocated, handed over, read and freed.
template <class Front, std::size_t Size, std::size_t Blocks, std::size_t Batches>
std::uint64_t xmalloc(const share& own_share) {
  static exchange<Blocks, Batches> between_all;
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    if (own_share.thread % 2 == 0) {
      auto* const filled = between_all.take_empty();
      for (void*& block : filled->blocks) {
        block = front.template make<Size>();
        mark(block, i);
      }
      between_all.give_full(filled);
    } else {
      auto* const full_batch = between_all.take_full();
      for (void* block : full_batch->blocks) {
        sum += marked(block);
        front.template unmake<Size>(block);
      }
      between_all.give_empty(full_batch);
    }
  }
  return sum;
}

/// Threads that send messages of random sizes to each other. A message is a block with its link, number and size; 32 of
/// them are sent at once, to each other thread in turn. As many come to a thread as it sends; one that is 16 lists
/// ahead sleeps until more have come.
template <class Front>
class correspondent {
 public:
  static constexpr std::uint64_t messages_at_once = 32;

  explicit correspondent(const share& own_share) noexcept : share_(own_share), random_(own_share.thread + 1) {}

  std::uint64_t run() {
    for (std::uint64_t number = 0; number < share_.repetitions; ++number) {
      send(number);
      read_until(number < max_lead ? 0 : number - max_lead);
    }
    read_until(share_.repetitions);
    return sum_;
  }

 private:
  struct message {
    message* next;
    std::uint32_t number;
    std::uint32_t bytes;
  };
  struct alignas(128) box {
    std::atomic<message*> newest{nullptr};
  };
  static constexpr std::uint64_t max_lead = 16;
  static constexpr unsigned max_threads = 16;
  static inline std::array<box, max_threads> boxes;

  void send(std::uint64_t number) {
    message* first = nullptr;
    message* last = nullptr;
    for (std::uint64_t i = 0; i < messages_at_once; ++i) {
      const std::size_t bytes = skewed_size(random_.next());
      auto* const created = static_cast<message*>(front_.allocate(bytes));
      created->next = first;
      created->number = static_cast<std::uint32_t>(number);
      created->bytes = static_cast<std::uint32_t>(bytes);
      first = created;
      last = last == nullptr ? created : last;
    }
    // For one number, each thread has another receiver.
    box& target = boxes[(share_.thread + 1 + number % (share_.threads - 1)) % share_.threads];
    message* newest = target.newest.load(std::memory_order_relaxed);
    do {
      last->next = newest;
    } while (!target.newest.compare_exchange_weak(newest, first, std::memory_order_release, std::memory_order_relaxed));
    if (newest == nullptr) target.newest.notify_one();
  }

  /// Reads and frees all that has come, and waits until it is at least so many lists.
  void read_until(std::uint64_t lists) {
    std::atomic<message*>& own_box = boxes[share_.thread].newest;
    do {
      if (read_ < lists * messages_at_once) own_box.wait(nullptr, std::memory_order_relaxed);
      message* received = own_box.exchange(nullptr, std::memory_order_acquire);
      while (received != nullptr) {
        message* const following = received->next;
        sum_ += received->number;
        ++read_;
        front_.deallocate(received, received->bytes);
        received = following;
      }
    } while (read_ < lists * messages_at_once);
  }

  Front front_;
  const share share_;
  random_numbers random_;
  std::uint64_t read_ = 0;
  std::uint64_t sum_ = 0;
};

/// Unit: one message allocated, sent, read and freed.
template <class Front>
std::uint64_t messages(const share& own_share) {
  return correspondent<Front>(own_share).run();
}

/// Each thread allocates blocks of 64 bytes. Then thread 0 frees them: one block of each thread in turn. The others
/// sleep meanwhile. Unit: one block allocated and freed.
template <class Front, std::size_t Count>
std::uint64_t owners(const share& own_share) {
  static constexpr unsigned max_threads = 64;
  static std::array<std::array<void*, Count>, max_threads> blocks;
  static std::atomic<std::uint64_t> filled{0}, rounds{0};
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    const std::uint64_t round = rounds.load(std::memory_order_acquire);
    for (void*& block : blocks[own_share.thread]) {
      block = front.template make<64>();
      mark(block, i);
    }
    if (filled.fetch_add(1, std::memory_order_acq_rel) + 1 == own_share.threads) filled.notify_one();
    if (own_share.thread != 0) {
      rounds.wait(round, std::memory_order_acquire);
      continue;
    }
    for (std::uint64_t count; (count = filled.load(std::memory_order_acquire)) != own_share.threads;)
      filled.wait(count);
    for (std::size_t number = 0; number < Count; ++number) {
      for (unsigned owner = 0; owner < own_share.threads; ++owner) {
        void* const block = blocks[owner][number];
        sum += marked(block);
        front.template unmake<64>(block);
      }
    }
    filled.store(0, std::memory_order_relaxed);
    rounds.fetch_add(1, std::memory_order_acq_rel);
    rounds.notify_all();
  }
  return sum;
}

}  // namespace bench
