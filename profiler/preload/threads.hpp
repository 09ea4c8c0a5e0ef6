// Keeps the counts of one thread: counters in the region, found by site and owner.
#pragma once

#include <cstdint>

#include "profiler/format/region.hpp"
#include "profiler/preload/base/lock.hpp"
#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/base/sampler.hpp"
#include "profiler/preload/excerpt.hpp"
#include "profiler/preload/records/cell_table.hpp"
#include "profiler/preload/records/held_locks.hpp"
#include "profiler/preload/records/held_semaphores.hpp"
#include "profiler/preload/records/lock_samples.hpp"
#include "profiler/preload/records/lock_table.hpp"
#include "profiler/preload/records/modules.hpp"
#include "profiler/preload/records/pending_calls.hpp"
#include "profiler/preload/records/python_codes.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/records/wait_samples.hpp"
#include "profiler/preload/records/walk_workspace.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/stacks/stack_cache.hpp"

namespace tarn::preload {

class thread {
 public:
  // Returns the calling thread's record, which is made at its first event, or null when there is no memory for it. It
  // calls nothing of the C library that may lock or allocate.
  static thread* current() noexcept {
    thread* const own_thread = current_;
    return own_thread != nullptr ? own_thread : make();
  }
  // Returns null where the thread has had no event yet.
  static thread* current_if_known() noexcept { return current_; }
  // Returns it in a signal's handler, even before the thread has run any code; `stack` is its stack pointer.
  static thread* current_in_signal(std::uintptr_t stack) noexcept;
  // Notes the limits of the calling thread's stack.
  static void note_stack(const stack_limits& limits) noexcept;
  // Notes also for `tarn record` where the stack is, of a thread that has just begun.
  static void note_begin(const stack_limits& limits) noexcept;
  // Lets the calling thread be a new one.
  static void forget_own() noexcept;
  // Sets own_counts and plain_thread of the calling thread.
  static void choose_path() noexcept;
  // Call it at the thread's first hook of a further attachment, which may have other sources than the one before.
  void begin_attachment() noexcept;
  // Called from the thread's exit system call.
  void leave() noexcept;
  // Lets the calling thread's end be seen also where that call is not dispatched. Call it in a hook.
  static void outlive_dispatch() noexcept;

  std::uint32_t number() const noexcept { return number_; }
  // Returns the row to which a block belongs. `owner` is the row that it was allocated in, and `sequence` the low
  // `sequence_bits` of that row's count of allocations then. An earlier thread of this row is not this one.
  static constexpr unsigned sequence_bits = 28;
  std::uint32_t owner_of(std::uint32_t owner, std::uint64_t sequence) const noexcept {
    if (owner != number_ || allocations_before_ == 0) [[likely]]
      return owner;
    constexpr std::uint64_t mask = (std::uint64_t{1} << sequence_bits) - 1;
    const std::uint64_t allocations = record_->allocations.load(std::memory_order_relaxed);
    return ((allocations - sequence) & mask) >= allocations - allocations_before_ ? format::ended_threads : owner;
  }
  const stack_limits& stack() const noexcept { return stack_; }
  // Returns the lock that each event holds when the thread has the last number, which all further threads share;
  // otherwise null.
  lock* shared_lock() noexcept { return number_ == format::max_threads ? &lock_ : nullptr; }

  // Returns null for a thread that is ending, for one that shares its number, and for one that has walked few stacks:
  // mapping its memory takes longer than some walks do.
  stack_cache* stacks() noexcept {
    if (seen_changes_ != module_changes.load(std::memory_order_relaxed)) [[unlikely]]
      forget_code();
    return stacks_;
  }
  // Returns the code objects of Python that it has met; null when there is no memory.
  met_python_codes* met_codes() noexcept {
    if (met_codes_ == nullptr) met_codes_ = static_cast<met_python_codes*>(map(sizeof(met_python_codes)));
    return met_codes_;
  }
  // Call this for each walk without them.
  void note_walk() noexcept;

  format::thread_record& counts() noexcept { return *record_; }
  counting_turns timed_python_reads;                  // of its Python frames
  counting_turns timed_acquisitions, timed_releases;  // those that are recorded
  timed_turns timed_allocations, timed_frees;         // where each block is counted
  sampler samples;                                    // chooses the samples
  trace_excerpt trace;                                // records its events, one by one
  held_locks locks;                                   // the locks that it holds
  held_semaphores semaphores;
  lock_samples samples_of_locks;
  wait_samples samples_of_waits;
  pending_calls pending;
  walk_workspace workspace;
  std::uint64_t seen_releases = 0;  // foreign releases (locks.hpp) that it has looked at
  std::int64_t unsent_bytes = 0;    // the part of its bytes in use that the process's sum lacks (peak.hpp)

  // Returns null when the region is full.
  format::cell* cell_of(std::uint32_t site, std::uint32_t owner) noexcept {
    const std::uint64_t key = format::cell_key(site, owner);
    return cells_.find_or_add(key, record_->cells[format::heap_kind],
                              [&](format::cell& cell) { cell.key.store(key, std::memory_order_relaxed); });
  }
  format::call_cell* call_cell_of(std::uint32_t site, std::uint32_t number) noexcept;
  // These return the counters for what several share, or null for a wait, where the process has no room for more cells.
  format::lock_cell* lock_cell_of(std::uint32_t site, lock_entry& lock) noexcept {
    format::lock_cell* const cell = locks_.find(format::cell_key(site, lock.number.load(std::memory_order_relaxed)));
    return cell != nullptr ? cell : add_lock_cell(site, lock);
  }
  format::wait_cell* wait_cell_of(std::uint32_t site, std::uint32_t lock_number, std::uint64_t holder) noexcept;
  // `key` and `held_key` are site << 32 | lock; `gate` is a lock.
  format::order_cell* order_cell_of(std::uint64_t key, std::uint64_t held_key, std::uint32_t gate) noexcept;
  format::violation_cell* violation_cell_of(std::uint32_t site, std::uint32_t region) noexcept;
  void count_unknown() noexcept;
  void count_dropped() noexcept;

 private:
  // This is initial-exec (cmake says so), as a look-up that allocates would come back here.
  static constinit thread_local thread* current_;  // NOLINT(bugprone-dynamic-static-initializers)

  [[gnu::noinline]] static thread* make() noexcept;
  static thread* make_numbered() noexcept;
  [[gnu::noinline]] void forget_code() noexcept;
  [[gnu::noinline]] format::lock_cell* add_lock_cell(std::uint32_t site, lock_entry& lock) noexcept;
  // Returns memory for a thread, all zeroes, which may be that of a thread that is gone; null when there is none.
  static thread* take_memory(thread* gone_thread) noexcept;
  // Returns the number of a new row; max_threads when there is none.
  static std::uint32_t take_number() noexcept;
  // Takes an ended thread that the kernel no longer knows; null when none is known to be gone.
  static thread* take_gone() noexcept;
  void end() noexcept;
  void keep_ended() noexcept;
  void clear() noexcept;
  // Lets the calling thread count on in the row of this one, which is gone. Returns false if it needs another row.
  bool pass_on() noexcept;
  static void end_of_key(void* ended_thread) noexcept { static_cast<thread*>(ended_thread)->end(); }
  friend void prepare_threads() noexcept;
  void be_known() noexcept;
  void begin_lock_samples() noexcept;
  bool set_up(std::uint32_t number) noexcept;

  cell_table<format::cell> cells_;
  cell_table<format::call_cell> calls_;
  cell_table<format::lock_cell> locks_;
  cell_table<format::wait_cell> waits_;
  cell_table<format::violation_cell> violations_;
  cell_table<format::order_cell> orders_;
  format::thread_record* record_ = nullptr;
  std::uint32_t number_ = 0;
  std::uint64_t allocations_before_ = 0;  // those of the earlier threads of this row
  const void* pointer_ = nullptr;         // the thread pointer
  stack_limits stack_;
  stack_cache* stacks_ = nullptr;
  met_python_codes* met_codes_ = nullptr;
  std::uint32_t seen_changes_ = 0;  // module_changes that it has looked at
  std::uint32_t walks_ = 0;         // until there are `stacks_`
  bool ends_in_call_ = false;       // its end is seen in the system call, not by a key
  lock lock_;
  thread* next_ended_ = nullptr;
};

// Points to the calling thread's counts, when they are its own alone and the recorder knows the thread; otherwise
// null.
// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit says that they are not
extern constinit thread_local format::thread_record* own_counts;
// Points to them also while malloc and free take the slow path, where `own_counts` is null.
extern constinit thread_local format::thread_record* known_counts;
// Points to the calling thread when each of its blocks is counted and it is in no region or excerpt; otherwise null.
extern constinit thread_local thread* plain_thread;
// Points to the calling thread when its acquisitions of locks are sampled; otherwise null.
extern constinit thread_local thread* sampled_locker;
// NOLINTEND(bugprone-dynamic-static-initializers)

// Returns own_counts, or null in a child that was forked without the handlers of fork: it must not count in the region
// of its parent.
inline format::thread_record* current_counts() noexcept { return is_recorded() ? own_counts : nullptr; }

// While an excerpt is recorded or the thread is in a quiet region, everything that it does takes the slow path. The
// two may overlap.
void enter_slow_path() noexcept;
void leave_slow_path() noexcept;

// Adds to a counter that only this thread writes; `tarn record` may read it at any time.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// Makes the preparations in the C library that later threads need, and notes the stack of this thread. The process's
// first thread calls it once.
void prepare_threads() noexcept;

// These start afresh in a child of fork: its one thread is a new one, and there is no other.
void begin_threads_anew() noexcept;
void begin_thread_starts_anew() noexcept;

// Stops asking the kernel whether an ended thread is gone: the program may have forbidden that call.
void ask_for_no_thread() noexcept;
// Notes that a thread has set a name: from now on, each thread that ends asks for its own.
void note_thread_name() noexcept;

// These return the number of threads of this image that had an event, and how many of these have not ended.
std::uint32_t threads_so_far() noexcept;
std::uint32_t threads_running() noexcept;

}  // namespace tarn::preload
