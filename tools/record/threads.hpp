// The counts of one thread: cells in the region, found by site and owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/region.hpp"
#include "record/cell_table.hpp"
#include "record/chance.hpp"
#include "record/excerpt.hpp"
#include "record/holds.hpp"
#include "record/known_stacks.hpp"
#include "record/lock.hpp"
#include "record/pending_calls.hpp"
#include "record/stack.hpp"

namespace tarn::record {

class thread {
 public:
  // The calling thread's; made at its first event. Null when there is no memory for it.
  static thread* own() noexcept {
    thread* const mine = current_;
    return mine != nullptr ? mine : make();
  }
  // The same where nothing of the C library may be called; `stack` is the thread's stack pointer.
  static thread* own_in_signal(std::uintptr_t stack) noexcept;
  // Where the stack of a thread lies that is about to begin.
  static void expect(stack_limits of_new_one) noexcept;
  // In a child of fork.
  static void forget_all() noexcept;
  // Sets own_counts and plain_thread of the calling thread.
  static void choose_way() noexcept;
  // It is about to end, in the system call that ends it.
  void leave() noexcept;

  std::uint32_t number() const noexcept { return number_; }
  const stack_limits& stack() const noexcept { return stack_; }
  // The last number stands for all further threads, which share one: each event then holds its lock.
  lock* shared_lock() noexcept { return number_ == format::most_threads ? &lock_ : nullptr; }

  // Null where there is none: for a thread that is ending, and one that shares its number.
  known_stacks* stacks() noexcept { return stacks_; }

  format::thread_record& counts() noexcept { return *record_; }
  chance points;  // where it samples
  excerpt part;   // of its events, one by one
  holds locks;    // that it has
  pending_calls pending;
  // What it called last, only to be compared.
  const format::call_cell* last_call = nullptr;

  // Null when the region is full.
  format::cell* cell_of(std::uint32_t site, std::uint32_t owner) noexcept {
    const std::uint64_t wanted = format::cell_key(site, owner);
    return cells_.find_or_add(wanted, record_->cells[format::heap_kind],
                              [&](format::cell& made) { made.key.store(wanted, std::memory_order_relaxed); });
  }
  format::call_cell* call_cell_of(std::uint32_t site, std::uint32_t number) noexcept;
  format::lock_cell* lock_cell_of(std::uint32_t site, std::uint32_t of_lock) noexcept;
  format::wait_cell* wait_cell_of(std::uint32_t site, std::uint32_t of_lock, std::uint64_t holder) noexcept;
  // `wanted` and `held`: site << 32 | lock; `gate`: a lock.
  format::order_cell* order_cell_of(std::uint64_t wanted, std::uint64_t held, std::uint32_t gate) noexcept;
  format::noise_cell* noise_cell_of(std::uint32_t site, std::uint32_t region) noexcept;
  void count_unknown() noexcept;
  void count_forgotten() noexcept;

 private:
  // initial-exec (cmake says so): a look-up that allocates would come back here.
  static constinit thread_local thread* current_;  // NOLINT(bugprone-dynamic-static-initializers)

  [[gnu::noinline]] static thread* make() noexcept;
  static thread* make_without_limits() noexcept;
  void end() noexcept;
  void watch_end() noexcept;
  void be_known() noexcept;
  bool set_up(std::uint32_t number) noexcept;

  cell_table<format::cell> cells_;
  cell_table<format::call_cell> calls_;
  cell_table<format::lock_cell> locks_;
  cell_table<format::wait_cell> waits_;
  cell_table<format::noise_cell> noises_;
  cell_table<format::order_cell> orders_;
  format::thread_record* record_ = nullptr;
  std::uint32_t number_ = 0;
  stack_limits stack_;
  known_stacks* stacks_ = nullptr;
  bool ends_in_call_ = false;  // its end is seen in the system call, and not by a key
  lock lock_;
};

// The counts of the calling thread, where they are its own alone and the recorder knows it; else null.
// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit says that they are not
extern constinit thread_local format::thread_record* own_counts;
// The same, also while malloc and free go the long way: then `own_counts` is null.
extern constinit thread_local format::thread_record* known_counts;
// The calling thread where each of its blocks is counted, and it is in no region or excerpt; else null.
extern constinit thread_local thread* plain_thread;
// Set while this thread makes system calls through the C library that are not the program's.
extern constinit thread_local bool calls_for_itself;
// NOLINTEND(bugprone-dynamic-static-initializers)

// While an excerpt is made, or the thread is in a region that is to be quiet, all that it does goes the long way. The
// two may overlap.
void take_long_way() noexcept;
void leave_long_way() noexcept;

// Adds to a counter that only this thread writes; `tarn record` may read it at any time.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// In a child of fork: its one thread is a new one, and there is no other.
void begin_threads_anew() noexcept;

// Threads of this image that had an event, and those of them that have not ended.
std::uint32_t threads_so_far() noexcept;
std::uint32_t threads_running() noexcept;

}  // namespace tarn::record
