// Keeps who held a lock while others waited for it, so that each of them can tell what it waited for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "profiler/preload/base/scale.hpp"

namespace tarn::preload {

// A hold of a lock that has ended. `holder` is as in lock_entry; `acquired_at` is 0 if the acquisition was not timed.
struct known_hold {
  std::uint64_t holder, acquired_at, released_at;
};

// The last releases of one lock for which threads waited; all zeroes at first. The thread that holds the lock adds its
// release before it releases the lock; of several readers, several may do so at once.
//
// A thread that waits for its turn on a processor waits for milliseconds, in which the others may release the lock a
// million times. So after its first releases, a wait needs only those that are some part of its time apart. Those that
// pass in between become one hold by the last thread that has noted itself.
class release_log {
 public:
  static constexpr std::uint64_t size = 32;
  static constexpr std::uint64_t dense_releases = 16;   // of each wait; they are all due
  static constexpr std::uint64_t inverse_distance = 8;  // the others are this part of the wait apart

  // Notes that a thread begins to wait at the clock's time `now`.
  void begin_wait(std::uint64_t now) noexcept {
    waiting_since_.store(now, std::memory_order_relaxed);
    dense_left_.store(dense_releases, std::memory_order_relaxed);
  }
  // Returns true when a release at the clock's time `now` is to be added; otherwise it passes.
  bool is_due(std::uint64_t now) noexcept {
    const std::uint64_t dense_left = dense_left_.load(std::memory_order_relaxed);
    if (dense_left != 0) {
      dense_left_.store(dense_left - 1, std::memory_order_relaxed);
    } else if (now < due_at_.load(std::memory_order_relaxed)) {
      passed_until_.store(now, std::memory_order_relaxed);
      return false;
    }
    const std::uint64_t since = waiting_since_.load(std::memory_order_relaxed);
    due_at_.store(now + (now > since ? now - since : 0) / inverse_distance, std::memory_order_relaxed);
    return true;
  }
  // Returns the last of the releases that have passed since one was added, as a hold; zeroes if there are none.
  known_hold passed_hold() const noexcept {
    const std::uint64_t until = passed_until_.load(std::memory_order_relaxed);
    const std::uint64_t holder = entries_[count() % size].holder.load(std::memory_order_relaxed);
    return until == 0 || holder == 0 ? known_hold{} : known_hold{holder, 0, until};
  }

  void add(std::uint64_t holder, std::uint64_t acquired_at, std::uint64_t now) noexcept {
    if (const known_hold passed = passed_hold(); passed.released_at != 0) append(passed);
    passed_until_.store(0, std::memory_order_relaxed);
    append({holder, acquired_at, now});
  }
  // Releases are numbered from 1 on; this is the number of the last one.
  std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  // Returns zeroes for a release that is no longer, or not yet, in the log.
  known_hold hold(std::uint64_t number) const noexcept {
    const entry& slot = entries_[number % size];
    if (number == 0 || slot.number.load(std::memory_order_acquire) != number) return {};
    const known_hold past_hold = {slot.holder.load(std::memory_order_relaxed),
                                  slot.acquired_at.load(std::memory_order_relaxed),
                                  slot.released_at.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    return slot.number.load(std::memory_order_relaxed) == number ? past_hold : known_hold{};
  }
  // Returns the longest of the holds that have left the log within about a second, or zeroes. When a long hold ends for
  // which many threads waited, the last of them looks only after hundreds of later releases.
  known_hold long_hold() const noexcept {
    const std::uint64_t version = long_hold_version_.load(std::memory_order_acquire);
    const known_hold past_hold = {long_hold_.holder.load(std::memory_order_relaxed),
                                  long_hold_.acquired_at.load(std::memory_order_relaxed),
                                  long_hold_.released_at.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_whole = version % 2 == 0 && long_hold_version_.load(std::memory_order_relaxed) == version;
    return is_whole ? past_hold : known_hold{};
  }

 private:
  void append(const known_hold& hold) noexcept {
    const std::uint64_t number = count_.fetch_add(1, std::memory_order_relaxed) + 1;
    entry& slot = entries_[number % size];
    if (number > size) keep_if_long(slot);
    slot.number.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    slot.holder.store(hold.holder, std::memory_order_relaxed);
    slot.acquired_at.store(hold.acquired_at, std::memory_order_relaxed);
    slot.released_at.store(hold.released_at, std::memory_order_relaxed);
    slot.number.store(number, std::memory_order_release);
  }
  // A reader that finds `number` before and after the other members has read one release.
  struct entry {
    std::atomic<std::uint64_t> number, holder, acquired_at, released_at;
  };
  // Keeps the hold that is about to leave the log if it is the longest one. One that was not timed began at the release
  // before. With several readers, only one of them at a time writes, and the others' holds are not kept.
  void keep_if_long(const entry& leaving) noexcept {
    constexpr std::uint64_t second = std::uint64_t{1} << 32;  // in ticks, of a clock of some GHz
    const std::uint64_t until = leaving.released_at.load(std::memory_order_relaxed);
    const std::uint64_t acquired_at = leaving.acquired_at.load(std::memory_order_relaxed);
    const std::uint64_t before = left_until_.exchange(until, std::memory_order_relaxed);
    const std::uint64_t since = acquired_at != 0 ? acquired_at : before;
    const std::uint64_t kept_until = long_hold_.released_at.load(std::memory_order_relaxed);
    const std::uint64_t kept_since = long_hold_.acquired_at.load(std::memory_order_relaxed);
    if (until - since < kept_until - kept_since && until < kept_until + second) return;
    std::uint64_t version = long_hold_version_.load(std::memory_order_relaxed);
    if (version % 2 != 0 ||
        !long_hold_version_.compare_exchange_strong(version, version + 1, std::memory_order_relaxed))
      return;
    std::atomic_thread_fence(std::memory_order_release);  // who reads a new member reads the odd version, too
    long_hold_.holder.store(leaving.holder.load(std::memory_order_relaxed), std::memory_order_relaxed);
    long_hold_.acquired_at.store(since, std::memory_order_relaxed);
    long_hold_.released_at.store(until, std::memory_order_relaxed);
    long_hold_version_.store(version + 2, std::memory_order_release);
  }

  std::atomic<std::uint64_t> count_;
  std::atomic<std::uint64_t> waiting_since_, dense_left_, due_at_, passed_until_;
  entry entries_[size];                           // that of a release is at its number % size
  std::atomic<std::uint64_t> left_until_;         // when the newest hold that has left the log ended
  std::atomic<std::uint64_t> long_hold_version_;  // odd while long_hold_ is written
  struct {
    std::atomic<std::uint64_t> holder, acquired_at, released_at;
  } long_hold_;
};

// The longest parts of a wait, by their holders; the longest one is first. There are few, because a thread that splits
// its wait may hold the lock.
class wait_parts {
 public:
  struct part {
    std::uint64_t holder, ticks;
  };
  // Goes back over the releases from the end of the wait to its begin. Between two of them the thread of the later one
  // held the lock, from its acquisition on.
  wait_parts(const release_log& log, std::uint64_t since, std::uint64_t until) noexcept {
    const std::uint64_t end_of_wait = until;
    std::uint64_t number = log.count(), free_ticks = 0;
    std::uint64_t known_since = until;  // what is known of the lock begins there
    known_hold hold = log.hold(number);
    if (const known_hold passed = log.passed_hold(); passed.released_at > hold.released_at) {
      hold = passed;
      ++number;
    }
    for (std::uint64_t left = release_log::size; left != 0 && hold.released_at > since; --left) {
      const known_hold before = log.hold(--number);
      const bool is_begin_known = before.released_at != 0 || number == 0 || hold.acquired_at != 0;
      if (!is_begin_known) break;
      // Holds of several readers overlap, so a hold may begin before the release of the one before.
      const std::uint64_t held_since = hold.acquired_at != 0 ? hold.acquired_at : before.released_at;
      if (hold.released_at < known_since) free_ticks += known_since - hold.released_at;
      known_since = std::min(known_since, std::max(held_since, since));
      const std::uint64_t begin = std::max({since, before.released_at, hold.acquired_at});
      const std::uint64_t end = std::min(hold.released_at, until);
      if (begin < end) {
        add(hold.holder, end - begin);
        until = begin;
      }
      hold = before;
    }
    const bool is_complete = number == 0 || (hold.released_at != 0 && hold.released_at <= since);
    if (is_complete && log.count() != 0) {
      free_ticks_ = free_ticks + (known_since - since);
    } else if (known_since < end_of_wait) {
      const std::uint64_t held_before = add_long_hold(log.long_hold(), since, std::min(known_since, until));
      // Takes the rest of what came before the log to be like what is in it.
      free_ticks_ = scale(free_ticks, end_of_wait - since - held_before, end_of_wait - known_since);
    }
  }
  // Returns the part of the wait in which no hold is known: the lock was free, and the waiting thread did not run yet.
  std::uint64_t free_ticks() const noexcept { return free_ticks_; }
  const part* begin() const noexcept { return parts_; }
  const part* end() const noexcept { return parts_ + count_; }

 private:
  static constexpr std::size_t limit = 4;

  // Returns for how long the hold was a part of the wait.
  std::uint64_t add_long_hold(const known_hold& hold, std::uint64_t since, std::uint64_t until) noexcept {
    const std::uint64_t begin = std::max(hold.acquired_at, since), end = std::min(hold.released_at, until);
    if (begin >= end) return 0;
    add(hold.holder, end - begin);
    return end - begin;
  }

  void add(std::uint64_t holder, std::uint64_t ticks) noexcept {
    std::size_t index = 0;
    while (index < count_ && parts_[index].holder != holder) ++index;
    if (index < count_) {
      ticks += parts_[index].ticks;
    } else if (count_ < limit) {
      ++count_;
    } else if (parts_[--index].ticks >= ticks) {
      return;
    }
    for (; index > 0 && parts_[index - 1].ticks < ticks; --index) parts_[index] = parts_[index - 1];
    parts_[index] = {holder, ticks};
  }

  part parts_[limit];
  std::size_t count_ = 0;
  std::uint64_t free_ticks_ = 0;
};

}  // namespace tarn::preload
