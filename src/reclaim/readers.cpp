#include "reclaim/readers.hpp"

#include <pthread.h>
#include <new>
#include <utility>

#include <tarn/detail/thread_end.hpp>

#include "platform/fork_section.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::detail {
namespace {
// A mark in slots that must not be used. It is no version.
constinit version_base unusable;
constinit reader_slots no_slots = {{&unusable}};
}  // namespace
constinit thread_local reader_slots* own_slots = &no_slots;
}  // namespace tarn::detail

namespace tarn::reclaim {
namespace {

using detail::own_slots;
using detail::reader_slot;

constinit platform::mutex lock{platform::lock_rank::isolated};
constinit std::atomic<reader_block*> newest{nullptr};
constinit reader_block* unused = nullptr;  // fresh blocks in the newest page
constinit std::size_t unused_count = 0;
constinit std::uint32_t block_count = 0;
constinit platform::fork_section forking;
constinit std::uint32_t forking_thread = 0;

// The blocks that are left, and those whose threads are ending: each is in one of two lists. A thread that ends pushes
// its block, without the lock. The other list is protected by the lock; a block that is still in use goes to its end.
constinit std::atomic<reader_block*> pushed{nullptr};

struct left_blocks {
  reader_block* first = nullptr;
  reader_block* last = nullptr;

  void put_first(reader_block& block) noexcept {
    block.next_left = first;
    first = &block;
    if (last == nullptr) last = &block;
  }
  void put_last(reader_block& block) noexcept {
    block.next_left = nullptr;
    (last == nullptr ? first : last->next_left) = &block;
    last = &block;
  }
  reader_block* take_first() noexcept {
    reader_block* const block = first;
    if (block != nullptr) {
      first = block->next_left;
      if (first == nullptr) last = nullptr;
    }
    return block;
  }
};
constinit left_blocks left;
constinit std::uint64_t examined = 0;  // protected by the lock

// Blocks of the list that a thread looks at before it makes a new one. If there are unused ones behind them, they come
// forward: at most about a sixteenth of the list can be unused while new ones are made.
constexpr std::uint32_t max_examined = 16;

// Leaves the block of a thread that ends. A fork in a signal handler between the two steps would otherwise find a block
// that is left, and that is still to be pushed.
void leave_block(reader_block& block) noexcept {
  block.next_left = pushed.load(std::memory_order_relaxed);
  // release: the thread that takes the list sees `next_left`.
  while (!pushed.compare_exchange_weak(block.next_left, &block, std::memory_order_release, std::memory_order_relaxed)) {
  }
  platform::note_release(&block.state);
  block.state.store(block_state::left, std::memory_order_release);
}

// Returns a block that nobody uses, or null if there is none among the first `max_count`. The caller holds the lock.
reader_block* take_left_block(std::uint32_t max_count) noexcept {
  for (reader_block* block = pushed.exchange(nullptr, std::memory_order_acquire); block != nullptr;) {
    left.put_first(*std::exchange(block, block->next_left));
  }
  reader_block* const first = left.first;
  for (std::uint32_t count = 0; count < max_count; ++count) {
    reader_block* const block = left.take_first();
    if (block == nullptr) break;
    ++examined;
    // acquire: the last owner no longer uses it.
    if (block->state.load(std::memory_order_acquire) == block_state::left && block->is_quiescent()) return block;
    left.put_last(*block);
    if (left.first == first) break;
  }
  return nullptr;
}

enum class barrier : int { unknown, works, refused };
constinit barrier kind = barrier::unknown;  // set before the first read, under the lock; constant from then on
constinit bool has_lost_barrier = false;    // protected by the lock

void prepare_fork() noexcept {
  if (forking.enter()) {
    lock.lock_for_fork();
    forking.note_owner();
  }
  forking_thread = platform::thread_number();
}
void finish_fork_in_parent() noexcept {
  if (forking.leave()) lock.unlock_after_fork();
}

// Of the parent's readers the child has only the forking thread, which has a new number. The slots of the other threads
// keep their versions: see reader_block::is_inherited. This interleaving must not happen in the child:
//   1 parent: thread A reads version 1, and moves its snapshot to thread B, which forks
//   2 child: the slot of A is emptied, and its block is free      3 child: version 2 replaces version 1, which is freed
//   4 child: thread C takes the block, and reads version 2 through the same slot
//   5 child: B uses version 1       6 child: B ends its snapshot, which empties the slot of C
// tests/models/reclaim_fork.pml searches all interleavings.
void finish_fork_in_child() noexcept {
  left = {};
  pushed.store(nullptr, std::memory_order_relaxed);
  for (reader_block* block = newest.load(std::memory_order_relaxed); block != nullptr; block = block->next) {
    if (block->thread.load(std::memory_order_relaxed) == forking_thread) {
      block->thread.store(platform::thread_number(), std::memory_order_relaxed);
      if (block->state.load(std::memory_order_relaxed) == block_state::left) left.put_last(*block);
      continue;
    }
    for (reader_slot& slot : block->slots) {
      if (slot.load(std::memory_order_relaxed) == &detail::unusable) slot.store(nullptr, std::memory_order_relaxed);
    }
    block->thread.store(0, std::memory_order_relaxed);
    block->state.store(block_state::left, std::memory_order_relaxed);
    left.put_last(*block);
  }
  forking_thread = platform::thread_number();  // for the rest of an outer fork
  if (forking.leave_in_child()) lock.reset();
}

// Registers at load, because a fork that has already begun ignores handlers that are registered later: its child would
// keep a lock that another thread of the parent held.
//
// The kernel registers a process for barriers at once while it has one thread. Later that takes a grace period of RCU,
// 5 to 50 ms, for which all first readers would wait behind the lock.
[[gnu::constructor]] void register_at_load() noexcept {
  pthread_atfork(prepare_fork, finish_fork_in_parent, finish_fork_in_child);
  if (platform::is_only_thread()) prepare_readers();
}

// Tries a barrier: a filter of system calls may refuse it although the process is registered.
void learn_barrier() noexcept {
  if (kind == barrier::unknown) kind = platform::barrier_in_all_threads() ? barrier::works : barrier::refused;
}

reader_block* fresh_block() noexcept {
  if (unused_count == 0) {
    void* const page = platform::map(platform::page_bytes(), platform::page_bytes());
    if (page == nullptr) return nullptr;
    unused = static_cast<reader_block*>(page);
    unused_count = platform::page_bytes() / sizeof(reader_block);
  }
  --unused_count;
  reader_block* const block = new (unused++) reader_block;
  block->index = block_count++;
  block->next = newest.load(std::memory_order_relaxed);
  // release: a thread that finds the block sees it complete.
  newest.store(block, std::memory_order_release);
  return block;
}

/// Throws std::bad_alloc.
reader_block& take_block(block_state new_state) {
  const platform::locked hold(lock);
  learn_barrier();
  reader_block* block = take_left_block(max_examined);
  if (block == nullptr) block = fresh_block();
  if (block == nullptr) {  // without memory, the search may take long
    block = take_left_block(block_count);
  }
  if (block == nullptr) throw std::bad_alloc();
  if (new_state == block_state::left) {  // any thread may take the block when its slots are empty
    block->slots[0].store(&detail::unusable, std::memory_order_relaxed);
    left.put_first(*block);
  }
  block->thread.store(platform::thread_number(), std::memory_order_relaxed);
  platform::note_acquire(&block->state);
  block->state.store(new_state, std::memory_order_relaxed);
  return *block;
}

// The thread's block, even when `own_slots` does not point to it.
constinit thread_local reader_block* own_block = nullptr;

struct leave_task : detail::thread_end_task {
  // Slots that are still in use, by snapshots that end later, keep the block from being reused.
  static void end(detail::thread_end_task*) noexcept {
    own_slots = &detail::no_slots;
    leave_block(*own_block);
    own_block = nullptr;
  }
};
constinit thread_local leave_task at_end{{nullptr, leave_task::end}};

/// Gives the calling thread a block of slots, unless its end tasks have already run. Throws std::bad_alloc.
void register_thread() {
  own_block = &take_block(block_state::occupied);
  if (!detail::at_thread_end(at_end)) {
    leave_block(*own_block);
    own_block = nullptr;
  } else if (kind == barrier::works) {
    own_slots = own_block;
  }
}

/// Returns an empty slot of the calling thread.
reader_slot& empty_slot() {
  if (own_block != nullptr) {
    for (reader_slot& slot : own_block->slots) {
      if (slot.load(std::memory_order_relaxed) == nullptr) return slot;
    }
  }
  return take_block(block_state::left).slots[0];
}

}  // namespace

bool reader_block::is_quiescent() const noexcept {
  for (const reader_slot& slot : slots) {
    // acquire: the thread that emptied the slot no longer uses the version that it read.
    if (slot.load(std::memory_order_acquire) != nullptr) return false;
    platform::note_acquire(&slot);
  }
  return true;
}

void prepare_readers() noexcept {
  static constinit std::atomic<bool> is_prepared{false};
  if (!is_prepared.exchange(true, std::memory_order_relaxed)) static_cast<void>(platform::prepare_barriers());
}

platform::mutex& writers_lock() noexcept { return lock; }
reader_block* all_blocks() noexcept { return newest.load(std::memory_order_acquire); }

std::size_t reading_threads() noexcept {
  std::size_t count = 0;
  for (const reader_block* block = all_blocks(); block != nullptr; block = block->next) {
    count += block->state.load(std::memory_order_relaxed) == block_state::occupied ? 1 : 0;
  }
  return count;
}

// The program may later install a filter of system calls that refuses the barrier, and that cannot be removed. Readers
// then still use no fence, so an empty slot no longer proves that nobody reads.
bool synchronise_with_readers() noexcept {
  if (kind == barrier::works && !has_lost_barrier) has_lost_barrier = !platform::barrier_in_all_threads();
  return !has_lost_barrier;
}
bool is_barrier_lost() noexcept { return has_lost_barrier; }

std::uint64_t examined_blocks() noexcept { return examined; }

void refuse_membarrier() noexcept {
  learn_barrier();
  kind = barrier::refused;
}

}  // namespace tarn::reclaim

namespace tarn::detail {

// Does what pin_at does, compiled in this library, which ThreadSanitizer does not instrument.
pinned_version pin_again(reader_slot& slot, const current_version& current) noexcept {
  platform::note_release(&slot);
  const pinned_version pinned = pin_at(slot, current);
  platform::note_acquire(&current);
  return pinned;
}

pinned_version pin_slow(const current_version& current) {
  if (reclaim::own_block == nullptr) reclaim::register_thread();
  reader_slot& slot = reclaim::empty_slot();
  if (reclaim::kind == reclaim::barrier::works) return pin_again(slot, current);
  platform::note_release(&slot);
  const version_base* version = current.load(std::memory_order_relaxed);
  for (;;) {
    // seq_cst, as at the writer's exchange and its read of the slots: either the writer sees this slot, or this thread
    // sees the writer's version. Where membarrier works, the barrier ensures that.
    slot.store(version, std::memory_order_seq_cst);
    const version_base* const newest = current.load(std::memory_order_seq_cst);
    if (newest == version) {
      platform::note_acquire(&current);
      return {version, &slot};
    }
    version = newest;
  }
}

}  // namespace tarn::detail
