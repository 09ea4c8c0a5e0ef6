// Guards the way into the recorder: every event that is counted passes through an entry.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "profiler/format/region.hpp"
#include "profiler/preload/records/python_stack.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

namespace detail {
// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit says that they are not
extern constinit thread_local bool is_inside_recorder;
extern constinit thread_local bool is_heap_hidden;  // as by hidden_heap or hidden_thread
extern constinit std::atomic<bool> has_started;     // true once this process is recorded and set up for it
extern constinit std::atomic<bool> is_heap_off;     // true once it is known that no block of this process is recorded
extern constinit std::atomic<bool> is_lock_off;     // the same for its locks
// NOLINTEND(bugprone-dynamic-static-initializers)
}  // namespace detail

// Returns true when the calling thread is in the recorder. A signal's handler may interrupt it there.
inline bool is_inside() noexcept { return detail::is_inside_recorder; }

// Returns true when anything of this process is recorded and the calling thread is not in the recorder, whose own calls
// of the C library do not count as the program's. Returns false until the recorder's first constructor has run.
inline bool records_anything() noexcept {
  return !is_inside() && detail::has_started.load(std::memory_order_acquire) && is_recorded();
}

// Returns true when, in addition, the events of `source` are recorded.
inline bool records(format::kind source = format::heap_kind) noexcept {
  return records_anything() && (header().sources & format::source_bit(source)) != 0 &&
         !(source == format::heap_kind && detail::is_heap_hidden);
}

// Marks the calling thread as being in the recorder while it lives. Converts to false when there is no memory for the
// thread's counts.
class entry {
 public:
  entry() noexcept : entry((enter(), thread::current())) {}
  // This one is for a signal's handler, which may have interrupted the C library. It must not be used where
  // is_inside().
  struct in_signal {
    std::uintptr_t stack;  // the thread's stack pointer
  };
  explicit entry(in_signal handler) noexcept : entry((enter(), thread::current_in_signal(handler.stack))) {}
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  ~entry() {
    if (lock* const thread_lock = shared_lock()) [[unlikely]]
      thread_lock->release();
    leave();
  }
  explicit operator bool() const noexcept { return self_ != nullptr; }
  thread& self() noexcept { return *self_; }

 private:
  explicit entry(thread* self) noexcept : self_(self) {
    if (lock* const thread_lock = shared_lock()) [[unlikely]]
      thread_lock->acquire();
  }
  friend class plain_entry;
  // A signal's handler sees the mark around everything that is done in between.
  static void enter() noexcept {
    detail::is_inside_recorder = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  static void leave() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    detail::is_inside_recorder = false;
  }
  lock* shared_lock() const noexcept { return self_ == nullptr ? nullptr : self_->shared_lock(); }
  thread* self_;
};

// Enters with the fewest instructions, for a thread that has a `plain_thread`. Converts to false for all other
// threads, and in the recorder.
class plain_entry {
 public:
  plain_entry() noexcept : self_(is_inside() || plain_thread == nullptr || !is_recorded() ? nullptr : plain_thread) {
    if (self_ != nullptr) [[likely]]
      entry::enter();
  }
  plain_entry(const plain_entry&) = delete;
  plain_entry& operator=(const plain_entry&) = delete;
  ~plain_entry() {
    if (self_ != nullptr) [[likely]]
      entry::leave();
  }
  explicit operator bool() const noexcept { return self_ != nullptr; }
  thread& self() noexcept { return *self_; }

 private:
  thread* self_;
};

// Hides the calling thread while it lives: nothing that it does is counted, and malloc and free take the slow path.
class hidden_thread {
 public:
  hidden_thread() noexcept
      : was_inside_(std::exchange(detail::is_inside_recorder, true)),
        was_hidden_(std::exchange(detail::is_heap_hidden, true)),
        counts_(std::exchange(own_counts, nullptr)) {}
  hidden_thread(const hidden_thread&) = delete;
  hidden_thread& operator=(const hidden_thread&) = delete;
  ~hidden_thread() {
    own_counts = counts_;
    if (counts_ == nullptr) thread::choose_path();  // a dispatched call may have made the thread known
    detail::is_heap_hidden = was_hidden_;
    detail::is_inside_recorder = was_inside_;
  }

 private:
  bool was_inside_, was_hidden_;
  format::thread_record* counts_;
};

// Hides what the calling thread does with its heap while it lives, but not its locks and system calls: malloc and free
// take the slow path, which counts nothing.
class hidden_heap {
 public:
  hidden_heap() noexcept
      : was_hidden_(std::exchange(detail::is_heap_hidden, true)),
        counts_(std::exchange(own_counts, nullptr)),
        plain_(std::exchange(plain_thread, nullptr)) {}
  hidden_heap(const hidden_heap&) = delete;
  hidden_heap& operator=(const hidden_heap&) = delete;
  ~hidden_heap() {
    own_counts = counts_;
    plain_thread = plain_;
    if (counts_ == nullptr) thread::choose_path();  // a recorded lock may have made the thread known
    detail::is_heap_hidden = was_hidden_;
  }

 private:
  bool was_hidden_;
  format::thread_record* counts_;
  thread* plain_;
};

// Begins to record a program that has run without the recorder, in the region of the file. Returns false if there is no
// memory.
bool start_late(long file) noexcept;
// Makes the table of blocks if this attachment records the heap and no earlier one did. Returns false if there is no
// memory.
bool set_up_late_blocks() noexcept;
// Leaves the region of the parent, in a child of fork that is recorded by itself. Its hooks must not lead here
// meanwhile, except those of the calling thread.
void begin_process_anew() noexcept;
// The same for the thread that has forked, which may be another one than the caller of begin_process_anew().
void begin_thread_anew() noexcept;
// Finds out how the operators new and delete behind ours allocate (new_delete.cpp).
void find_operators() noexcept;

// The site of a stack, and the thread's counters for its allocations there.
struct counting_site {
  std::uint32_t site;
  format::cell* cell;  // null when the region is full
};
counting_site find_heap_site(thread& self, const caller& caller) noexcept;
[[gnu::always_inline]] inline counting_site heap_site(thread& self, const caller& caller) noexcept {
  const bool may_be_cached = self.stacks() != nullptr && !runs_python();
  const stack_cache::cached_stack* const cached = may_be_cached ? self.stacks()->find(caller) : nullptr;
  if (cached == nullptr || cached->cell == nullptr) [[unlikely]]
    return find_heap_site(self, caller);
  return {cached->site, cached->cell};
}

// Returns the site alone, without its counters.
std::uint32_t site_from(thread& self, const caller& caller) noexcept;

}  // namespace tarn::preload
