// Counts the acquisitions, waits and releases of the program's locks. Each function is called beside the C library's,
// from any thread, where records(lock_kind).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "profiler/format/region.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/records/open_use.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/stacks/stack.hpp"
#include "profiler/preload/threads.hpp"

namespace tarn::preload {

// Empties the table of locks in a child of fork.
void begin_locks_anew() noexcept;

// Counts the threads that wait for locks, by a hash of the lock's address.
constexpr int waiter_count_bits = 10;
extern constinit std::atomic<std::uint16_t> waiter_counts[std::size_t{1} << waiter_count_bits];  // NOLINT
inline std::atomic<std::uint16_t>& waiter_count(const void* lock) noexcept {
  return waiter_counts[reinterpret_cast<std::uintptr_t>(lock) * 0x9e3779b97f4a7c15ULL >> (64 - waiter_count_bits)];
}

// Counts the releases of locks by threads that had not acquired them. A thread drops its own holds of these locks at
// its next acquisition that is recorded, and where its list of holds is full. It is apart from what threads write.
struct alignas(64) release_count {
  std::atomic<std::uint64_t> value;
};
extern constinit release_count foreign_releases;  // NOLINT(bugprone-dynamic-static-initializers): constinit
void drop_released(thread& self) noexcept;
[[gnu::always_inline]] inline void look_for_releases(thread& self) noexcept {
  if (self.seen_releases != foreign_releases.value.load(std::memory_order_relaxed)) [[unlikely]]
    drop_released(self);
}

// Stands for the record of a hold that `tarn record` does not see. All threads share it, so nothing is written to it.
extern constinit format::open_use no_use;  // NOLINT(bugprone-dynamic-static-initializers): constinit
// Ends what `tarn record` sees of a hold that has counters.
inline void close_hold(const held_lock& hold) noexcept {
  if (hold.use != &no_use) close(*hold.use);
}

// Ends those holds of a thread that end with it: of a robust mutex, which the next thread gets, and of a semaphore.
void end_holds(thread& self) noexcept;

// Counts a semaphore as taken and not posted by the thread. Another thread may post it, which nobody notes.
[[gnu::always_inline]] inline void give_up_semaphore(const held_lock& hold) noexcept {
  if (hold.cell == nullptr) return;
  close_hold(hold);
  add(hold.cell->value[format::unposted], hold.weight);
}

// Adds a hold to a full list. Returns null, and counts the hold as missing, where no hold in it has ended.
held_lock* push_full(thread& self) noexcept;

// Says what is known of an acquisition before it.
struct lock_look {
  thread* self;     // the calling thread; null where the lock is looked up before it is tried
  bool is_skipped;  // not recorded, unless it has to wait
};
// An acquisition that stands for others must find the lock held as often as they do. So it is tried at once, like those
// that are skipped, and looked up while it is held. Where each acquisition is recorded, it is looked up before.
// After a skipped one that succeeds, call push_unrecorded().
[[gnu::always_inline]] inline lock_look look_at(const void* lock, const caller& caller) noexcept {
  thread* const self = sampled_locker;
  if (self == nullptr || is_inside()) [[unlikely]]
    return {nullptr, false};
  const bool is_skipped = self->samples_of_locks.skips(lock, caller.address);
  const bool stands_for_others = self->samples_of_locks.weight() > 1;
  return {stands_for_others || is_skipped ? self : nullptr, is_skipped};
}
[[gnu::always_inline]] inline void push_unrecorded(thread& self, const void* lock, format::lock_type type,
                                                   bool is_shared, const caller& caller) noexcept {
  const auto describe = [&](held_lock& hold) {
    hold.cell = nullptr;
    hold.acquisition = {caller.address, caller.stack};
    hold.weight = 0;
    hold.type = static_cast<std::uint16_t>(type);
    hold.is_shared = is_shared;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    hold.address = lock;
  };
  if (type == format::lock_type::semaphore) return describe(self.semaphores.place_for(lock, give_up_semaphore));
  held_lock* hold = self.locks.push();
  if (hold == nullptr) [[unlikely]] {
    hold = push_full(self);
    if (hold == nullptr) return;
  }
  describe(*hold);
}
// Returns true when the lock that is about to be released was not recorded, and no thread waits for it. The release
// then needs no further work.
[[gnu::always_inline]] inline bool release_unrecorded(const void* lock) noexcept {
  thread* const self = sampled_locker;
  if (self == nullptr || is_inside() || self->locks.count() == 0) return false;
  const held_lock& newest = self->locks[self->locks.count() - 1];
  // A thread that begins to wait after this check waits only as long as the release takes, and gets no holder.
  if (newest.address != lock || newest.cell != nullptr || waiter_count(lock).load(std::memory_order_relaxed) != 0)
    return false;
  self->locks.pop();
  return true;
}

// Returns true when the post of a semaphore needs no further work: this thread did not take it, or unrecorded, and no
// thread waits for it.
[[gnu::always_inline]] inline bool post_unrecorded(const void* semaphore) noexcept {
  thread* const self = sampled_locker;
  if (self == nullptr || is_inside() || waiter_count(semaphore).load(std::memory_order_relaxed) != 0) return false;
  held_lock* const hold = self->semaphores.find(semaphore);
  if (hold == nullptr) return !lock_samples::has_recorded_all();
  if (hold->cell != nullptr) return false;
  held_semaphores::remove(*hold);
  return true;
}

struct lock_entry;

// Counts one acquisition from its beginning. It looks up the lock and the site before the lock is taken, so that the
// lock is not held longer than without the recorder.
class acquisition {
 public:
  // An acquisition that gives up in time is no part of a deadlock.
  enum class wait_limit : std::uint8_t { endless, timed };
  // `is_skipped`: it would not be recorded if the lock had been free.
  acquisition(const void* lock, format::lock_type type, const caller& caller, wait_limit limit = wait_limit::timed,
              bool is_skipped = false) noexcept;

  // These note the begin of a wait, and its end with or without success, except for a wait for a condition.
  void begin_wait() noexcept;
  void end_wait() noexcept;
  // Notes that it has the lock; `is_shared` means as one of several readers.
  void note_success(bool is_shared) noexcept;
  // Notes that it gave up.
  void note_failure() noexcept;
  // Notes the end of a wait for a condition, which nobody holds; `was_woken` is false after a timeout.
  void finish_condition_wait(bool was_woken) noexcept;

 private:
  std::optional<brief_work_timer> timer() const noexcept;
  void count(format::lock_counter counter) noexcept;
  void open_wait(thread& self) noexcept;
  void push_semaphore(thread& self, std::uint64_t now) noexcept;
  void open_semaphores(thread& self) noexcept;
  void count_wait(thread& self, bool has_acquired, std::uint64_t now) noexcept;
  void count_holders(thread& self, bool has_acquired, std::uint64_t now) noexcept;
  bool add_wait(thread& self, std::uint64_t holder, std::uint64_t count, std::uint64_t ticks) noexcept;
  void count_orders(thread& self, format::order_counter counter, std::uint64_t amount) noexcept;

  const void* address_;
  caller caller_;
  lock_entry* entry_ = nullptr;  // null when it is not counted
  format::lock_cell* cell_ = nullptr;
  std::uint32_t site_ = 0;
  std::uint16_t weight_ = 1;  // how many acquisitions it stands for; a skipped one is recorded because it waits
  format::lock_type type_;
  bool can_block_;
  bool has_mark_ = false;  // while it waits, the lock's holder sees that
  bool is_timed_ = false;  // the recorder's work for it is
  std::uint64_t waiting_since_ = 0, holder_ = 0;
};

// Notes that the calling thread is about to release the lock.
void note_release(const void* lock, const caller& caller) noexcept;

// Notes that the calling thread is about to post the semaphore, which it may have taken.
void note_post(const void* semaphore, const caller& caller) noexcept;

// Notes that the calling thread has released or posted it. Who waits from now on does not wait for this thread, but
// maybe for a process that is not recorded. The lock may be gone.
void note_released(const void* lock) noexcept;

// Notes that the semaphore ends. If the thread has taken it, it did not post it.
void note_semaphore_end(const void* semaphore) noexcept;

// Notes that the lock ends. A lock that begins at its address later is another one, unless it is first used at the
// same site.
void note_end(const void* lock) noexcept;

// Counts a wait for a condition. The mutex is not held meanwhile.
class condition_wait {
 public:
  condition_wait(const void* condition, const void* mutex, const caller& caller) noexcept;
  void finish(bool was_woken) noexcept;

 private:
  acquisition waits_;
  const void* mutex_;
};

}  // namespace tarn::preload
