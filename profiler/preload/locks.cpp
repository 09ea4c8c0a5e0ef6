#include "profiler/preload/locks.hpp"

#include <pthread.h>
#include <semaphore.h>

#include <algorithm>
#include <cstddef>

#include "profiler/preload/base/memory.hpp"
#include "profiler/preload/base/readable.hpp"
#include "profiler/preload/base/recorder_clock.hpp"
#include "profiler/preload/base/scale.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/quiet.hpp"
#include "profiler/preload/records/lock_table.hpp"
#include "profiler/preload/records/open_use.hpp"
#include "profiler/preload/records/region.hpp"
#include "profiler/preload/records/release_log.hpp"
#include "profiler/preload/records/sites.hpp"

namespace tarn::preload {

constinit std::atomic<std::uint16_t> waiter_counts[std::size_t{1} << waiter_count_bits] = {};
constinit format::open_use no_use = {};

namespace {

// A holder is encoded as its site and thread plus one, so that 0 means that there is none.
constexpr std::uint64_t no_holder = 0;

std::uint64_t holder_at(std::uint32_t site, const thread& self) noexcept {
  return (std::uint64_t{site} << 32 | self.number()) + 1;
}

bool records_calls() noexcept { return (header().sources & format::source_bit(format::call_kind)) != 0; }

// Returns the site of a hold that was acquired unrecorded, from the stack of a later call. It has the frame of the
// acquisition and those frames of the later stack that have existed since then. Frames in between have returned and are
// unknown.
std::uint32_t walk_to_hold(thread& self, const acquisition_point& acquisition, const caller& present,
                           stack_reads& reads) noexcept {
  const work_timer timer(format::walk_ticks);
  std::uintptr_t *const frames = self.workspace.parts, *const lasting_frames = self.workspace.frames;
  const std::size_t depth = walk(present, self.stack(), frames, reads);
  std::size_t count = 0;
  lasting_frames[count++] = acquisition.caller;
  if (present.stack > acquisition.stack) lasting_frames[count++] = frames[0];
  if (reads.count <= stack_reads::limit) {
    std::size_t next = 1;  // the frames in their order, among other words that were read
    for (std::uint32_t index = 0; index < reads.count && next < depth; ++index) {
      if (reads.values[index] != frames[next] && reads.values[index] + 1 != frames[next]) continue;
      const bool has_lasted = present.stack + reads.offsets[index] + sizeof(std::uintptr_t) > acquisition.stack;
      if (has_lasted && count < format::max_frames) lasting_frames[count++] = frames[next];
      ++next;
    }
  } else {  // the frames' places are not known
    for (std::size_t next = 1; next < depth && count < format::max_frames; ++next)
      lasting_frames[count++] = frames[next];
  }
  return site_of(lasting_frames, count);
}

// While a thread waits for a lock, the others may release it some hundred times, mostly from the same few places.
std::uint32_t site_of_hold(thread& self, const acquisition_point& acquisition, const caller& present) noexcept {
  stack_cache* const stacks = self.stacks();
  if (stacks == nullptr) {
    self.note_walk();
    return walk_to_hold(self, acquisition, present, self.workspace.reads);
  }
  if (const stack_cache::cached_hold* const cached = stacks->find_hold(acquisition, present)) return cached->later.site;
  stack_cache::cached_stack& slot = stacks->slot_for_hold(acquisition, present);
  const std::uint32_t site = walk_to_hold(self, acquisition, present, slot.reads);
  stack_cache::keep(slot, present, site);
  return site;
}

// Gives a lock that was acquired unrecorded its site and its counters.
void attribute(thread& self, held_lock& hold, const caller& present) noexcept {
  if (hold.cell != nullptr) return;
  const std::uint32_t site = site_of_hold(self, hold.acquisition, present);
  hold.since = 0;
  hold.use = &no_use;
  lock_entry* const entry = entry_of(hold.address, static_cast<format::lock_type>(hold.type), site);
  if (entry != nullptr) hold.cell = self.lock_cell_of(site, *entry);
  // A site that is known to have acquired the lock has done so at least once.
  if (hold.cell != nullptr && hold.cell->value[format::acquisitions].load(std::memory_order_relaxed) == 0) {
    add(hold.cell->value[format::acquisitions], 1);
    if (hold.is_shared) add(hold.cell->value[format::reader_acquisitions], 1);
  }
}

[[gnu::noinline]] format::open_use& free_hold(thread& self) noexcept {
  for (format::open_use& use : self.counts().holds) {
    if (use.since.load(std::memory_order_relaxed) == 0) return use;
  }
  return no_use;
}
// Shows the hold at that index. (Those of threads that share a number are not read.)
[[gnu::always_inline]] inline void open_hold(thread& self, held_lock& hold, std::size_t index, format::lock_cell& cell,
                                             std::uint64_t since) noexcept {
  format::open_use* use = &self.counts().holds[index];
  // The place may be that of a hold which was at this index.
  if (index >= format::max_open_holds || use->since.load(std::memory_order_relaxed) != 0) [[unlikely]]
    use = &free_hold(self);
  open(*use, cell.key.load(std::memory_order_relaxed), since);
  hold.use = use;
}

// Shows the hold of a semaphore that only one thread can have. That is so until it was once taken with more to take.
void open_semaphore(thread& self, held_lock& hold, const lock_entry& entry, std::uint64_t since) noexcept {
  if (entry.has_places.load(std::memory_order_relaxed)) return;
  hold.use = &self.counts().semaphores[self.semaphores.index_of(hold)];
  open(*hold.use, hold.cell->key.load(std::memory_order_relaxed), since);
}

// Returns true while the last holder of each lock is known, also without a log of releases.
bool knows_holders() noexcept { return header().interval == 0 || lock_samples::has_recorded_all(); }

// Returns false where the threads that wait for the lock can do without this release of it.
bool is_release_due(const void* lock) noexcept {
  const lock_entry* const entry = known_entry(lock);
  release_log* const log = entry == nullptr ? nullptr : entry->log.load(std::memory_order_acquire);
  return log != nullptr && log->is_due(clock_ticks());
}

// Notes the holder of the lock for the threads that wait for it.
void name_holder(thread& self, held_lock& hold, const caller& present) noexcept {
  if (self.shared_lock() != nullptr) return;
  // One that was recorded is timed, which tells when the lock was free.
  if (hold.weight == 0 && !knows_holders() && !is_release_due(hold.address)) return;
  attribute(self, hold, present);
  if (hold.cell == nullptr) return;
  const auto site = static_cast<std::uint32_t>(hold.cell->key.load(std::memory_order_relaxed) >> 32);
  lock_entry* const entry = entry_of(hold.address, static_cast<format::lock_type>(hold.type), site);
  if (entry == nullptr || is_excess(*entry)) return;
  if (release_log* const log = log_of(*entry)) log->add(holder_at(site, self), hold.since, clock_ticks());
}

void keep_longest(std::atomic<std::uint64_t>& longest, std::uint64_t ticks) noexcept {
  if (longest.load(std::memory_order_relaxed) < ticks) longest.store(ticks, std::memory_order_relaxed);
}

// Counts a hold that ended at the clock's time `now`.
void finish_hold(const held_lock& hold, std::uint64_t now) noexcept {
  if (hold.cell == nullptr) return;
  close_hold(hold);
  if (hold.since == 0) return;
  const std::uint64_t ticks = now - hold.since;
  add(hold.cell->value[format::holds], hold.weight);
  add(hold.cell->value[format::held_ticks], ticks * hold.weight);
  keep_longest(hold.cell->value[format::longest_held], ticks);
}

// The newest foreign releases, each at its number modulo their count. `releasing` guards the writers.
constexpr std::size_t kept_releases = 1024;  // a thread looks at them at one in 128 of its acquisitions or more
struct foreign_release {
  std::atomic<const void*> lock;
  std::atomic<std::uint64_t> ticks;  // of the clock
};
constinit foreign_release releases[kept_releases] = {};
constinit lock releasing;

// Where `tarn record` sees the last recorded hold by one thread alone, by a hash of the lock's address. It may show
// another hold since then. These are apart from the locks' entries, which waiting threads read.
constexpr int shown_hold_bits = 10;
constinit std::atomic<format::open_use*> shown_holds[std::size_t{1} << shown_hold_bits] = {};
std::atomic<format::open_use*>& shown_hold(const void* lock) noexcept {
  return shown_holds[reinterpret_cast<std::uintptr_t>(lock) * 0x9e3779b97f4a7c15ULL >> (64 - shown_hold_bits)];
}

// Returns false for a mutex of a kind that only its owner releases: the C library refuses the release.
bool may_release_foreign(const lock_entry* entry, const void* lock) noexcept {
  if (entry == nullptr || entry->type.load(std::memory_order_relaxed) != format::lock_type::mutex) return true;
  const int kind = static_cast<const pthread_mutex_t*>(lock)->__data.__kind & 3;
  return kind != PTHREAD_MUTEX_RECURSIVE && kind != PTHREAD_MUTEX_ERRORCHECK;
}

// Notes the release of a lock that the thread is not known to hold: another one may have acquired it.
[[gnu::noinline]] void note_foreign_release(const void* address) noexcept {
  lock_entry* const entry = known_entry(address);
  if (!may_release_foreign(entry, address)) return;
  if (entry != nullptr) {
    format::open_use* const use = shown_hold(address).load(std::memory_order_relaxed);
    const std::uint32_t shown_lock =
        use == nullptr ? 0 : static_cast<std::uint32_t>(use->key.load(std::memory_order_relaxed));
    if (shown_lock != 0 && (shown_lock == entry->number.load(std::memory_order_relaxed) ||
                            shown_lock == entry->sum_number.load(std::memory_order_relaxed)))
      close(*use);
    entry->holder.store(no_holder, std::memory_order_relaxed);
  }
  const holding guard(releasing);
  const std::uint64_t number = foreign_releases.value.load(std::memory_order_relaxed);
  releases[number % kept_releases].lock.store(address, std::memory_order_relaxed);
  releases[number % kept_releases].ticks.store(clock_ticks(), std::memory_order_relaxed);
  foreign_releases.value.store(number + 1,
                               std::memory_order_release);  // release: a thread that counts it finds its lock
}

}  // namespace

// Where the calling thread has the semaphore and did not post it, it waits for another thread's post.
void give_up_own(thread& self, const void* semaphore) noexcept {
  held_lock* const hold = self.semaphores.find(semaphore);
  if (hold == nullptr) return;
  give_up_semaphore(*hold);
  held_semaphores::remove(*hold);
}

constinit release_count foreign_releases = {};

// A thread that has missed more releases than are kept may go on with holds that have ended.
void drop_released(thread& self) noexcept {
  const std::uint64_t count = foreign_releases.value.load(std::memory_order_acquire);
  const std::uint64_t oldest = count > kept_releases ? count - kept_releases : 0;
  for (std::uint64_t number = std::max(self.seen_releases, oldest); number < count; ++number) {
    const foreign_release& release = releases[number % kept_releases];
    held_lock* const hold = self.locks.find(release.lock.load(std::memory_order_relaxed));
    if (hold == nullptr || hold->is_shared) continue;
    finish_hold(*hold,
                std::max(release.ticks.load(std::memory_order_relaxed), hold->cell == nullptr ? 0 : hold->since));
    self.locks.remove(hold);
  }
  self.seen_releases = count;
}

held_lock* push_full(thread& self) noexcept {
  drop_released(self);
  held_lock* const hold = self.locks.push();
  if (hold == nullptr) header().untimed_holds.fetch_add(1, std::memory_order_relaxed);
  return hold;
}

// The mutex may be in memory that the program has given back.
void end_holds(thread& self) noexcept {
  self.semaphores.give_up_all(give_up_semaphore);
  constexpr int robust = 16;  // the C library's flag in the kind of a mutex
  for (std::size_t index = self.locks.count(); index-- > 0;) {
    const held_lock& hold = self.locks[index];
    if (hold.cell == nullptr || static_cast<format::lock_type>(hold.type) != format::lock_type::mutex) continue;
    const int& kind = static_cast<const pthread_mutex_t*>(hold.address)->__data.__kind;
    if (!is_word_readable(reinterpret_cast<std::uintptr_t>(&kind) & ~std::uintptr_t{7}) || (kind & robust) == 0)
      continue;
    finish_hold(hold, clock_ticks());
    self.locks.remove(&hold);
  }
}

void begin_locks_anew() noexcept {
  begin_lock_table_anew();
  releasing.begin_anew();
  lock_samples::begin_anew();
  wait_samples::begin_anew();
  for (std::atomic<format::open_use*>& use : shown_holds) use.store(nullptr, std::memory_order_relaxed);
  for (std::atomic<std::uint16_t>& threads : waiter_counts) threads.store(0, std::memory_order_relaxed);
}

acquisition::acquisition(const void* lock, format::lock_type type, const caller& caller, wait_limit limit,
                         bool is_skipped) noexcept
    : address_(lock), caller_(caller), type_(type), can_block_(limit == wait_limit::endless) {
  const bool is_chosen = sampled_locker != nullptr;
  entry guard;
  if (!guard) return;
  is_timed_ = guard.self().timed_acquisitions.take();
  const auto timed = timer();
  if (sampled_locker != nullptr) count_work(format::recorded_locks, 1);
  // The first acquisition of a thread makes it known, so nothing has chosen it. In the row of an ended thread it is one
  // of many, too.
  if (!is_chosen && sampled_locker != nullptr && type != format::lock_type::condition)
    is_skipped = sampled_locker->samples_of_locks.skips(lock, caller.address);
  if (is_skipped) {
    weight_ = 0;
  } else if (sampled_locker != nullptr && type != format::lock_type::condition) {
    weight_ = guard.self().samples_of_locks.take_weight(lock, caller.address, processor_nanoseconds);
  }
  site_ = site_from(guard.self(), caller);
  lock_entry* const entry = entry_of(lock, type, site_);
  if (entry != nullptr) cell_ = guard.self().lock_cell_of(site_, *entry);
  if (cell_ == nullptr) guard.self().count_dropped();
  if (cell_ != nullptr) entry_ = entry;
}

std::optional<brief_work_timer> acquisition::timer() const noexcept {
  return is_timed_ ? std::optional<brief_work_timer>(std::in_place, format::lock_ticks) : std::nullopt;
}

void acquisition::begin_wait() noexcept {
  if (entry_ == nullptr) return;
  const auto timed = timer();
  entry guard;
  if (guard) look_for_releases(guard.self());
  if (guard && type_ == format::lock_type::semaphore) give_up_own(guard.self(), address_);
  if (guard && type_ != format::lock_type::condition) {
    has_mark_ = header().interval == 0 || guard.self().samples_of_waits.takes_next(processor_nanoseconds);
    release_log* const log = has_mark_ && !is_excess(*entry_) ? log_of(*entry_) : nullptr;
    if (log != nullptr) log->begin_wait(clock_ticks());
    // The mark is set before the thread begins to wait, so the holder that releases the lock sees the mark.
    if (has_mark_) waiter_count(address_).fetch_add(1, std::memory_order_seq_cst);
    if (knows_holders()) holder_ = entry_->holder.load(std::memory_order_relaxed);
  }
  // Counts before the wait, as the wait does not end in a deadlock.
  if (guard && can_block_) count_orders(guard.self(), format::orders, 1);
  waiting_since_ = clock_ticks();
  if (guard) open_wait(guard.self());
}

// Also opens the holds between two samples that count_orders() has found a site for. They began earlier, but it is not
// known when.
void acquisition::open_wait(thread& self) noexcept {
  const std::size_t holds = std::min<std::size_t>(self.locks.count(), format::max_open_holds);
  for (std::size_t index = 0; can_block_ && index < holds; ++index) {
    held_lock& hold = self.locks[index];
    const bool is_repeated = hold.weight != 0 && hold.since == 0;
    if (hold.cell != nullptr && hold.use == &no_use && !is_repeated)
      open_hold(self, hold, index, *hold.cell, waiting_since_);
  }
  if (can_block_) open_semaphores(self);
  open(self.counts().wait, cell_->key.load(std::memory_order_relaxed), waiting_since_);
}

// Opens the semaphores that the thread has taken unrecorded: another one may wait for them as long as this one waits.
void acquisition::open_semaphores(thread& self) noexcept {
  if (self.shared_lock() != nullptr) return;
  for (held_lock& hold : self.semaphores) {
    if (hold.address == nullptr || hold.cell != nullptr) continue;
    attribute(self, hold, caller_);
    const lock_entry* const entry = hold.cell == nullptr ? nullptr : known_entry(hold.address);
    if (entry != nullptr) open_semaphore(self, hold, *entry, waiting_since_);
  }
}

void acquisition::end_wait() noexcept {
  if (entry_ == nullptr) return;
  if (has_mark_) waiter_count(address_).fetch_sub(1, std::memory_order_relaxed);
  if (thread* const self = thread::current()) close(self->counts().wait);
}

void acquisition::count_orders(thread& self, format::order_counter counter, std::uint64_t amount) noexcept {
  held_locks& locks = self.locks;
  if (locks.count() == 0) [[likely]]
    return;
  // Skips threads that share a number, as it is not known which of them holds a lock, and locks that this thread
  // holds already, as it does not wait for them.
  if (!can_block_ || self.shared_lock() != nullptr || self.locks.find(address_) != nullptr) return;
  constexpr std::size_t limit = 8;  // only the newest of the held locks
  const std::uint64_t key = cell_->key.load(std::memory_order_relaxed);
  held_lock& outermost = locks[0];
  attribute(self, outermost, caller_);
  if (outermost.cell == nullptr) return self.count_dropped();
  const auto outermost_lock = static_cast<std::uint32_t>(outermost.cell->key.load(std::memory_order_relaxed));
  const std::uint32_t gate = outermost.is_shared || is_of_several(outermost_lock) ? 0 : outermost_lock;
  for (std::size_t index = locks.count() > limit ? locks.count() - limit : 0; index < locks.count(); ++index) {
    attribute(self, locks[index], caller_);
    if (locks[index].cell == nullptr) return self.count_dropped();
    const std::uint64_t held_key = locks[index].cell->key.load(std::memory_order_relaxed);
    format::order_cell* const cell = self.order_cell_of(key, held_key, index == 0 ? 0 : gate);
    if (cell == nullptr) return self.count_dropped();
    add(cell->value[counter], amount);
  }
}

void acquisition::count_wait(thread& self, bool has_acquired, std::uint64_t now) noexcept {
  close(self.counts().wait);
  const std::uint64_t ticks = now - waiting_since_;
  add(cell_->value[format::wait_ticks], ticks);
  keep_longest(cell_->value[format::longest_wait], ticks);
  // Where system calls are recorded, the wait has been counted as one already.
  if (is_in_region() && !records_calls()) [[unlikely]]
    count_violation(self, format::lock_waits, site_);
  if (entry_->number.load(std::memory_order_relaxed) == 0) return;
  if (has_mark_) {
    count_holders(self, has_acquired, now);
  } else if (type_ != format::lock_type::condition) {
    self.samples_of_waits.add(cell_, ticks);
  }
}

// Counts those who held the lock during this wait, which also stands for waits without a mark.
void acquisition::count_holders(thread& self, bool has_acquired, std::uint64_t now) noexcept {
  const std::uint64_t own_ticks = now - waiting_since_;
  const wait_samples::sum unmarked = self.samples_of_waits.take(cell_);
  const std::uint64_t count = unmarked.waits + 1, ticks = unmarked.ticks + own_ticks;
  const auto scaled = [&](std::uint64_t part) {
    return unmarked.waits == 0 || own_ticks == 0 ? part : scale(part, ticks, own_ticks);
  };
  bool has_holder = false;
  std::uint64_t free_ticks = 0;
  if (const release_log* const log = entry_->log.load(std::memory_order_acquire)) {
    constexpr std::uint64_t little = 64;  // a holder of less than 1/64 of the wait is not worth a cell
    const wait_parts parts(*log, waiting_since_, now);
    // A thread that gave up did so because the lock was held, and that hold is in no log.
    if (has_acquired) free_ticks = parts.free_ticks();
    add(cell_->value[format::free_ticks], scaled(free_ticks));
    for (const wait_parts::part& part : parts) {
      if (has_holder && part.ticks < own_ticks / little) break;
      if (!add_wait(self, part.holder, has_holder ? 0 : count, scaled(part.ticks))) return;
      has_holder = true;
    }
  }
  // Where nobody has released it meanwhile, the wait was for the one that held it at the begin.
  if (!has_holder && holder_ != no_holder) has_holder = add_wait(self, holder_, count, scaled(own_ticks - free_ticks));
  if (!has_holder) return;  // acquired before the recording
  count_orders(self, format::order_waits, count);
  count_orders(self, format::order_ticks, ticks);
}

bool acquisition::add_wait(thread& self, std::uint64_t holder, std::uint64_t count, std::uint64_t ticks) noexcept {
  const auto lock = static_cast<std::uint32_t>(cell_->key.load(std::memory_order_relaxed));
  format::wait_cell* const cell = self.wait_cell_of(site_, lock, holder - 1);
  if (cell == nullptr) {
    header().waits_without_holder.fetch_add(count, std::memory_order_relaxed);
    return false;
  }
  add(cell->value[format::waits], count);
  add(cell->value[format::waited_ticks], ticks);
  return true;
}

void acquisition::count(format::lock_counter counter) noexcept {
  add(cell_->value[counter], weight_);
  if (weight_ > 1) add(cell_->value[format::lock_spread], std::uint64_t{weight_} * (weight_ - 1U));
}

void acquisition::note_success(bool is_shared) noexcept {
  if (entry_ == nullptr) return;
  const auto timed = timer();
  entry guard;
  if (!guard) return;
  thread& self = guard.self();
  look_for_releases(self);
  const std::uint64_t now = clock_ticks();
  if (!is_excess(*entry_) && knows_holders()) {
    entry_->holder.store(holder_at(site_, self), std::memory_order_relaxed);
  }
  count(format::acquisitions);
  if (is_shared) add(cell_->value[format::reader_acquisitions], weight_);
  if (waiting_since_ != 0) {
    add(cell_->value[format::contended], 1);
    count_wait(self, true, now);
  } else {
    count_orders(self, format::orders, weight_);
  }
  if (type_ == format::lock_type::semaphore) return push_semaphore(self, now);
  // The time of a recursive hold is part of that of the outermost one.
  const bool is_repeated = self.locks.find(address_) != nullptr;
  const std::size_t index = self.locks.count();
  if (held_lock* const hold = self.locks.push()) {
    hold->address = address_;
    hold->cell = cell_;
    hold->acquisition = {caller_.address, caller_.stack};
    hold->since = is_repeated ? 0 : now;
    hold->weight = weight_;
    hold->type = static_cast<std::uint16_t>(type_);
    hold->is_shared = is_shared;
    hold->use = &no_use;
    if (is_repeated) return;
    open_hold(self, *hold, index, *cell_, hold->since);
    // A thread that waits often would take the line from the processor of another one.
    if (!is_shared && hold->use != &no_use && waiting_since_ == 0)
      shown_hold(address_).store(hold->use, std::memory_order_relaxed);
  } else {
    header().untimed_holds.fetch_add(1, std::memory_order_relaxed);  // the ended ones have been dropped
  }
}

void acquisition::push_semaphore(thread& self, std::uint64_t now) noexcept {
  held_lock& hold = self.semaphores.place_for(address_, give_up_semaphore);
  hold.cell = cell_;
  hold.acquisition = {caller_.address, caller_.stack};
  hold.since = now;
  hold.weight = weight_;
  hold.type = static_cast<std::uint16_t>(type_);
  hold.is_shared = false;
  hold.use = &no_use;
  int places_left = 0;
  if (::sem_getvalue(static_cast<sem_t*>(const_cast<void*>(address_)), &places_left) == 0 && places_left > 0)
    entry_->has_places.store(true, std::memory_order_relaxed);
  open_semaphore(self, hold, *entry_, now);
  hold.address = address_;
}

void acquisition::note_failure() noexcept {
  if (entry_ == nullptr) return;
  const auto timed = timer();
  entry guard;
  if (!guard) return;
  if (waiting_since_ != 0) weight_ = 1;  // a wait that fails takes long, so they are few
  count(format::refused);
  if (waiting_since_ != 0) count_wait(guard.self(), false, clock_ticks());
}

void acquisition::finish_condition_wait(bool was_woken) noexcept {
  if (entry_ == nullptr) return;
  const auto timed = timer();
  entry guard;
  if (!guard) return;
  count(was_woken ? format::acquisitions : format::refused);
  if (was_woken) add(cell_->value[format::contended], 1);
  count_wait(guard.self(), was_woken, clock_ticks());
}

void note_release(const void* lock, const caller& caller) noexcept {
  entry guard;
  if (!guard) return;
  std::optional<brief_work_timer> timed;
  if (guard.self().timed_releases.take()) timed.emplace(format::lock_ticks);
  held_lock* const released = guard.self().locks.find(lock);
  if (released == nullptr) return note_foreign_release(lock);
  if (waiter_count(lock).load(std::memory_order_relaxed) != 0) name_holder(guard.self(), *released, caller);
  finish_hold(*released, released->cell != nullptr && released->since != 0 ? clock_ticks() : 0);
  guard.self().locks.remove(released);
}

// Another thread than the one that took it posts a semaphore to tell it something, and ends no hold.
void note_post(const void* semaphore, const caller& caller) noexcept {
  entry guard;
  if (!guard) return;
  std::optional<brief_work_timer> timed;
  if (guard.self().timed_releases.take()) timed.emplace(format::lock_ticks);
  held_lock* const hold = guard.self().semaphores.find(semaphore);
  if (hold == nullptr) {
    lock_entry* const entry = knows_holders() ? known_entry(semaphore) : nullptr;
    if (entry != nullptr) entry->holder.store(no_holder, std::memory_order_relaxed);
    return;
  }
  if (waiter_count(semaphore).load(std::memory_order_relaxed) != 0) name_holder(guard.self(), *hold, caller);
  finish_hold(*hold, hold->cell != nullptr && hold->since != 0 ? clock_ticks() : 0);
  held_semaphores::remove(*hold);
}

void note_released(const void* lock) noexcept {
  lock_entry* const entry = knows_holders() ? known_entry(lock) : nullptr;
  if (entry == nullptr) return;
  preload::entry guard;
  if (!guard || guard.self().locks.find(lock) != nullptr) return;
  std::uint64_t holder = entry->holder.load(std::memory_order_relaxed);
  const bool is_own = holder != no_holder && static_cast<std::uint32_t>(holder - 1) == guard.self().number();
  if (is_own) entry->holder.compare_exchange_strong(holder, no_holder, std::memory_order_relaxed);
}

void note_end(const void* lock) noexcept {
  if (lock_entry* const entry = known_entry(lock)) entry->number.store(0, std::memory_order_relaxed);
}

void note_semaphore_end(const void* semaphore) noexcept {
  if (entry guard; guard) give_up_own(guard.self(), semaphore);
  note_end(semaphore);
}

condition_wait::condition_wait(const void* condition, const void* mutex, const caller& caller) noexcept
    : waits_(condition, format::lock_type::condition, caller), mutex_(mutex) {
  waits_.begin_wait();
  entry guard;
  if (!guard) return;
  held_lock* const lock = guard.self().locks.find(mutex);
  if (lock == nullptr) return;
  if (waiter_count(mutex).load(std::memory_order_relaxed) != 0) name_holder(guard.self(), *lock, caller);
  if (lock->cell == nullptr) return;
  close(*lock->use);
  if (lock->weight == 0 || lock->since == 0) return;
  add(lock->cell->value[format::held_ticks], (clock_ticks() - lock->since) * lock->weight);
  lock->since = 0;  // stays 0 when the wait is cancelled
}

void condition_wait::finish(bool was_woken) noexcept {
  waits_.finish_condition_wait(was_woken);
  entry guard;
  if (!guard) return;
  held_lock* const lock = guard.self().locks.find(mutex_);
  if (lock == nullptr || lock->cell == nullptr || lock->weight == 0) return;
  lock->since = clock_ticks();
  open(*lock->use, lock->cell->key.load(std::memory_order_relaxed), lock->since);
}

}  // namespace tarn::preload
