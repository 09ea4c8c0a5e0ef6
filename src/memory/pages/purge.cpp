// Gives free memory back to the system; the memory policy decides how much and when.
#include "memory/pages/space.hpp"
#include "platform/platform.hpp"

namespace tarn::pages {
namespace {

using namespace base::units;
using hold = platform::locked<platform::mutex>;

/// One call of purge gives back at most this much, so that the caller is not held up for long.
constexpr std::size_t max_purged_at_once = 64_MiB;
/// Less free memory than this keeps no helper running: it waits for the next call of the program.
constexpr std::size_t little_retained = 1_MiB;
/// One system call purges at most this many units, which no thread can take meanwhile.
constexpr std::size_t max_purged_units = 64;

/// A purge of an earlier generation ended with the thread that a fork left behind.
constinit std::atomic<std::uint32_t> generation{1};

}  // namespace

// Purges at once when memory is freed in bulk, because no later call may come that could do it. It keeps what a
// program with so much in use is likely to need again. If that guess was too low (take_run had to touch new memory
// soon afterwards), the next one is twice as large.
void space::purge_excess(std::size_t freed) noexcept {
  if (options_.purge == purging::never || policy_.is_paused() || is_being_purged()) return;
  std::size_t left =
      policy_.excess(runs_.dirty_units() * unit_bytes, used_bytes_.load(std::memory_order_relaxed), freed);
  if (left == 0) return;
  purge_generation_ = generation.load(std::memory_order_relaxed);
  for (std::size_t others = runs_.dirty_segments(); others != 0 && left != 0; --others) {
    segment* const dirty = next_dirty();
    if (dirty == nullptr) break;
    for (unit_set segment::*member : {&segment::stale, &segment::recently_freed}) {
      const std::size_t purged_units = dirty->is_reserved ? 0 : purge_set(*dirty, member, left);
      left -= purged_units < left ? purged_units : left;
    }
  }
  purge_generation_ = 0;
  const std::uint64_t now = platform::now_ms();
  policy_.note_excess_purged(now);
  policy_.note_tried(now);
}

// Unmaps the segments of which nothing is in use, because the descriptions of their slabs hold memory. Runs when no
// free memory has been used for the whole delay: a program that works in waves would have to map them again. Under a
// limit of the address space they stay, because an aligned segment might not fit again.
void space::drop_unused() noexcept {
  purges_without_walk_ = walked_segments_ = 0;
  runs_.for_each([this, is_limited = false, is_known = false](segment& visited) mutable {
    ++walked_segments_;
    if (visited.is_reserved || visited.free_units != visited.units || visited.dirty_units != 0 ||
        visited.refused.next_member(0) < max_units) {
      return;
    }
    if (!is_known) {
      is_limited = platform::address_space_limit() != 0;
      is_known = true;
    }
    if (!is_limited) {
      runs_.remove(visited);
      visited.destroy();
    }
  });
}

// Returns the segment that has been dirty for the longest time, or null if none is dirty. The segment moves to the
// end of the list, so that a loop visits each segment once. A purge opens the lock, so the list may have changed
// afterwards.
segment* space::next_dirty() noexcept {
  segment* const oldest = runs_.first_dirty();
  if (oldest != nullptr) runs_.move_to_end_of_dirty(*oldest);
  return oldest;
}

// Runs under the lock, and releases it during each system call. A few units at a time leave the free set, so that
// other threads can use the rest.
std::size_t space::purge_set(segment& purged, unit_set segment::*member, std::size_t max_bytes) noexcept {
  std::size_t bytes = 0;
  unit_set& set = purged.*member;
  std::size_t unit = set.next_member(0);
  while (unit < max_units && bytes < max_bytes && !policy_.should_stop()) {
    std::size_t count = set.next_gap(unit) - unit;
    count = count < max_purged_units ? count : max_purged_units;
    purged.lend(unit, count);
    runs_.update(purged);
    bytes += purge_lent(purged, unit, count);
    unit = set.next_member(unit + count);
  }
  return bytes;
}

// Purges lent units, and puts them back. If the system refuses, one of them may be locked: then the halves are tried,
// so that only the locked units stay.
std::size_t space::purge_lent(segment& purged, std::size_t unit, std::size_t count) noexcept {
  mutex_.unlock();
  const bool was_purged = platform::purge(purged.address(unit), count * unit_bytes);
  mutex_.lock();
  if (was_purged) {
    policy_.note_purged();
    purged.put_back(unit, count, true);
    runs_.update(purged);
    return count * unit_bytes;
  }
  policy_.note_refused();
  if (count > 1 && policy_.may_split()) {
    const std::size_t half = count / 2;
    const std::size_t bytes = purge_lent(purged, unit, half);
    return bytes + purge_lent(purged, unit + half, count - half);
  }
  purged.put_back_refused(unit, count);
  runs_.update(purged);
  return 0;
}

bool space::retains(std::size_t bytes) const noexcept {
  return options_.purge == purging::after_delay &&
         runs_.dirty_units() * unit_bytes + cached_.load(std::memory_order_relaxed) >= bytes && !policy_.is_paused();
}

bool space::may_purge_later() noexcept {
  if (!mutex_.try_lock()) return true;  // a thread uses the space now
  const bool is_worth_waiting = retains(little_retained);
  mutex_.unlock();
  return is_worth_waiting;
}

bool space::purge(std::uint64_t now_ms, std::uint32_t delay_ms) noexcept {
  if (!policy_.is_due(now_ms)) return false;
  if (!mutex_.try_lock()) {
    return false;  // the thread that holds the lock will come here again
  }
  if (is_being_purged() || policy_.is_paused() || options_.purge == purging::never) {
    mutex_.unlock();
    return false;
  }
  purge_generation_ = generation.load(std::memory_order_relaxed);
  std::size_t purged = 0;
  for (std::size_t left = runs_.dirty_segments(); left != 0 && purged < max_purged_at_once; --left) {
    segment* const dirty = next_dirty();
    if (dirty == nullptr) break;
    purged += dirty->is_reserved ? 0 : purge_set(*dirty, &segment::stale, max_purged_at_once - purged);
  }
  const bool has_finished = purged < max_purged_at_once;
  if (has_finished) {
    // All stale memory is gone, and recently freed memory ages now. It takes two half delays to go.
    policy_.note_tried(now_ms);
    if (policy_.should_retry(now_ms)) retry_refused();
    bool is_any_left = false;
    for (segment* candidate = runs_.first_dirty(); candidate != nullptr; candidate = candidate->next) {
      if (candidate->is_reserved) continue;
      is_any_left = is_any_left || candidate->recently_freed.next_member(0) < max_units;
      candidate->stale |= candidate->recently_freed;
      candidate->recently_freed.clear();
    }
    policy_.note_aged(now_ms, delay_ms, is_any_left);
    if (!is_any_left) {
      // Without a delay each free comes here. So a walk over many segments waits until frees have paid for it.
      if (delay_ms != 0 || purges_without_walk_ >= walked_segments_ / 16) {
        drop_unused();
      } else {
        ++purges_without_walk_;
      }
    }
  }
  purge_generation_ = 0;
  mutex_.unlock();
  return !has_finished;
}

void space::retry_refused() noexcept {
  runs_.for_each([this](segment& visited) {
    visited.retry_refused();
    runs_.update(visited);
  });
}

void space::wait_for_purge() noexcept {
  while (is_being_purged()) {
    mutex_.unlock();
    platform::sleep_ms(1);
    mutex_.lock();
  }
}

// Runs under the lock. Returns true while another thread purges this space, and has opened the lock for it.
bool space::is_being_purged() noexcept {
  if (purge_generation_ != 0 && purge_generation_ != generation.load(std::memory_order_relaxed)) {
    end_purge_of_lost_thread();
  }
  return purge_generation_ != 0;
}

void space::end_purge_of_lost_thread() noexcept {
  purge_generation_ = 0;
  runs_.for_each([this](segment& visited) {
    if (visited.put_back_all()) {
      runs_.update(visited);
      policy_.note_dirty();
    }
  });
}

void space::reset_after_fork() noexcept {
  end_purge_of_lost_thread();
  mutex_.reset();
}

void space::end_lost_purges() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

// It opens the lock without a generation, so release_all() does not wait for it. Only the owner of a space calls both,
// and the central space is never released.
std::size_t space::purge_all() noexcept {
  const hold guard(mutex_);
  policy_.forget_refusals();
  retry_refused();
  std::size_t bytes = 0;
  for (std::size_t left = runs_.dirty_segments(); left != 0; --left) {
    segment* const dirty = next_dirty();
    if (dirty == nullptr) break;
    bytes += purge_set(*dirty, &segment::stale, ~std::size_t{0});
    bytes += purge_set(*dirty, &segment::recently_freed, ~std::size_t{0});
  }
  policy_.note_tried(platform::now_ms());
  runs_.for_each([this](segment& visited) {  // address space can be short too
    if (!visited.is_reserved && visited.free_units == visited.units) {
      runs_.remove(visited);
      visited.destroy();
    }
  });
  return bytes;
}

}  // namespace tarn::pages
