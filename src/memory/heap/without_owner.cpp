// Handles heaps without a thread, and reclaims memory on behalf of owners that sleep.

#include <utility>

#include "base/fault.hpp"
#include "memory/heap/free_mark.hpp"
#include "memory/heap/heap.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/random_quarantine.hpp"
#include "memory/heap/registry.hpp"
#include "platform/helper_locks.hpp"
#include "platform/platform.hpp"
#include "platform/random.hpp"

namespace tarn::heaps {
namespace {

/// An owner at work whose heap has less free memory than this needs no other visit.
constexpr std::uint64_t min_visited_bytes = std::uint64_t{1} << 20;
/// Or all heaps together have this much.
constexpr std::uint64_t min_visited_in_all = std::uint64_t{4} << 20;
constexpr std::uint32_t max_refused_visits = 16;
/// An owner that makes fast calls only is visited so often, which takes `purge_delay_ms`, before the front magazines of
/// its idle classes are emptied.
constexpr std::uint32_t visits_to_idle = 4;
/// A heap without a thread that has this much more free memory than at its last visit is visited again.
constexpr std::uint64_t min_freed_without_owner = std::uint64_t{64} << 10;

}  // namespace

// ---------------------------------------------------------- without a thread

// Ends the ownership of the heap. No block may stay in the inbox of an idle heap:
//
//   owner                        sender
//   1 collects the inbox
//                                2 posts a slab
//   3 state = idle
//   4 reads the inbox            5 reads the state
//
// Steps 2, 3, 4 and 5 are sequentially consistent. If 2 comes before 4, the owner sees the slab in 4 and acts for the
// heap. Otherwise the order is 3, 4, 2, 5, and the sender sees `idle` in 5 and acts for it. With any weaker order
// both may read before either has written. The same argument holds between the last read of a thread that acts for
// the heap and a sender, and for a large run that a thread puts into the cache of the heap. A sender that finds the
// slab already posted leaves it to the thread that posts it.
void heap::retire() noexcept {
  {
    const owner_scope hold(*this);  // visit() says why
    send_all();
    close_batch();
    collect();
    flush_all();
    stock.clear();
    forget_past_use();
    reclaim_bytes.store(first_reclaim_bytes, std::memory_order_relaxed);
    batch_quota.store(remote_batch::min_quota, std::memory_order_relaxed);
    was_visited_asleep.store(false, std::memory_order_relaxed);
    visited_free_bytes = 0;
    registry::note_idle_record(record_bytes());
    end_tending();
  }
  visit_large_cache(true);
  tend();
}

bool heap::start_tending() noexcept {
  ownership expected = ownership::idle;
  if (!state.compare_exchange_strong(expected, ownership::tending, std::memory_order_seq_cst)) return false;
  platform::note_acquire(&state);
  return true;
}

// Makes the heap idle again. Slabs with blocks in use keep the pages of their free blocks; if these are many more than
// at the last visit, this asks the helper for another one.
void heap::end_tending() noexcept {
  const std::uint64_t bytes = free_bytes();
  const bool must_visit = bytes >= visited_free_bytes + min_freed_without_owner;
  if (must_visit) {
    was_visited_asleep.store(false, std::memory_order_relaxed);
  } else if (bytes < visited_free_bytes) {
    visited_free_bytes = bytes;  // another heap has adopted a slab
  }
  platform::note_release(&state);
  state.store(ownership::idle, std::memory_order_seq_cst);
  if (must_visit) {
    note_retained(bytes);
  }
}

void heap::tend() noexcept {
  while (!remote_inbox.empty()) {
    if (!start_tending()) {
      return;  // an owner, or another thread that acts for the heap, will check again
    }
    make_record_whole();
    take_inbox(taker::tender);
    stock.clear();  // of the arrays of batches
    end_tending();
  }
}

// Acts for the heap and frees the blocks in their slab at once. Runs on the sender.
bool heap::give_directly(const freed_blocks& blocks) noexcept {
  if (!start_tending()) return false;
  const bool is_own = owner_in(detail::key_of<__ATOMIC_ACQUIRE>(blocks.start)) == this;
  if (is_own) {
    make_record_whole();
    if (policy.is_hardened()) check_remote_marks(*blocks.home, blocks.word, blocks.freed, true);
    const bool was_full = blocks.home->full();
    blocks.home->give_word(blocks.word, blocks.freed);
    count_returned(*blocks.home, static_cast<std::size_t>(std::popcount(blocks.freed)), was_full, false);
  }
  end_tending();
  tend();
  return is_own;
}

// Adopts a slab of a heap without an owner, which saves new memory.
pages::slab* heap::adopt_slab(size_class index) noexcept {
  if (space != &central()) return nullptr;
  pages::slab* adopted = nullptr;
  for (int left = registry::max_inspected; left != 0 && adopted == nullptr && registry::any_idle(); --left) {
    heap* const idle_heap = registry::tend_next_idle();
    if (idle_heap == nullptr) break;
    idle_heap->take_inbox(taker::tender);
    adopted = idle_heap->classes[index].available.front();
    if (adopted != nullptr) {
      idle_heap->make_record_whole();
      const std::size_t in_use = static_cast<std::size_t>(adopted->capacity - adopted->free_blocks);
      idle_heap->lose(adopted, false);
      idle_heap->taken_bytes.subtract(in_use * detail::size_of(index));
      taken_bytes.add(in_use * detail::size_of(index));
      // A thread that frees a block meanwhile may still post the slab to `idle_heap`. The collector of `idle_heap`
      // finds the new key and sends the slab on.
      pages::page_map::set(adopted->start, adopted->units, address() | index, adopted);
    }
    idle_heap->stock.clear();  // of the arrays of batches
    idle_heap->end_tending();
    idle_heap->tend();
  }
  return adopted;
}

// Gives back the pages in which only free blocks lie. A heap whose thread ended since the last visit is left alone,
// because another thread may adopt it soon.
bool heap::visit_without_owner(bool (*stop)() noexcept) noexcept {
  const std::uint64_t calls = slow_calls.get();
  if (visited_calls.exchange(calls, std::memory_order_relaxed) != calls) {
    return is_worth_visiting() || registry::idle_record_bytes() >= min_visited_in_all;
  }
  if (was_visited_asleep.load(std::memory_order_relaxed)) return false;
  std::size_t purged_bytes = 0;
  return !purge_without_owner(stop, purged_bytes);
}

// Returns false if the visit ended early. A thread that starts meanwhile adopts another heap, or makes one.
bool heap::purge_without_owner(bool (*stop)() noexcept, std::size_t& purged_bytes) noexcept {
  if (!start_tending()) return false;
  const bool has_finished = visit_classes(stop, purged_bytes);
  if (has_finished) purged_bytes += purge_idle_record();
  visited_free_bytes = free_bytes();
  was_visited_asleep.store(has_finished, std::memory_order_relaxed);
  end_tending();
  tend();
  return has_finished;
}

// Returns the bytes that purge_idle_record() would give back.
std::ptrdiff_t heap::record_bytes() const noexcept {
  const std::size_t page = platform::page_bytes();
  return static_cast<std::ptrdiff_t>(base::align_up(sizeof(heap), page) - page +
                                     (block_quarantine == nullptr ? 0 : sizeof(random_quarantine)));
}

// Runs before a thread that acts for the heap changes a class.
void heap::make_record_whole() noexcept {
  if (!is_record_purged) return;
  is_record_purged = false;
  registry::note_idle_record(record_bytes());
  if (policy.is_closed()) {
    for (class_state& class_entry : classes) class_entry.closed_top = shut_top();
  }
  if (block_quarantine != nullptr) block_quarantine->seed(platform::random_number());
}

// The quarantine is empty since the thread ended.
std::size_t heap::purge_idle_record() noexcept {
  if (std::exchange(is_record_purged, true)) return 0;
  registry::note_idle_record(-record_bytes());
  return purge_record() + (block_quarantine == nullptr ? 0 : block_quarantine->purge());
}

void heap::prepare_adopted() noexcept {
  if (is_record_purged) {
    const owner_scope hold(*this);
    make_record_whole();
  }
  registry::note_idle_record(-record_bytes());
}

// --------------------------------------------------- for an owner that sleeps

// The owner's slow paths keep visitors out (owner_lock). Its fast paths do not: they only use the front magazines, and
// a visitor takes blocks out of those in a way of its own (idle_fronts.cpp). Threads that act for a heap without a
// thread do not take the lock either. So the visitor reads the state during its visit: while it is `occupied`, the
// owner would have to take the lock, in retire(), before another thread could act for the heap. acquire: if the heap
// was adopted, the changes of the earlier thread are complete.
bool heap::visit(bool (*stop)() noexcept) noexcept {
  if (space != &central() || policy.is_shared() || policy.is_exact()) {
    return false;
  }
  const ownership state_now = state.load(std::memory_order_relaxed);
  if (state_now != ownership::occupied) {
    return state_now == ownership::idle && visit_without_owner(stop);
  }
  const owner_activity activity = activity_since_visit();
  if (activity.makes_slow_calls && !activity.neglects_inbox) return is_worth_visiting();
  const bool may_empty_later = activity.uses_fronts && is_worth_visiting();
  const emptied_fronts fronts = fronts_to_empty(activity, may_empty_later);
  if (was_visited_asleep.load(std::memory_order_relaxed) && fronts == emptied_fronts::no_class &&
      remote_inbox.empty()) {
    return may_empty_later;
  }
  if (!visits.try_visit()) {
    // In a forked child, another thread's slow path of the parent never ends.
    return refused_visits.fetch_add(1, std::memory_order_relaxed) < max_refused_visits;
  }
  refused_visits.store(0, std::memory_order_relaxed);
  bool has_finished = false;
  // A fork asks for a stop, and then waits until no visitor is in its thread's heap. So the visitor asks again here.
  if (!stop() && state.load(std::memory_order_acquire) == ownership::occupied) {
    take_inbox(taker::visitor);
    has_finished = !activity.makes_slow_calls && visit_magazines(stop, fronts);
  }
  visits.end_visit();
  return !has_finished || may_empty_later;
}

heap::owner_activity heap::activity_since_visit() noexcept {
  constexpr std::uint64_t nothing_waits = ~std::uint64_t{0};
  const std::uint64_t calls = slow_calls.get();
  const std::uint64_t takes = remote_inbox.empty() ? nothing_waits : inbox_takes.get();
  const std::uint64_t tops = hash_of_tops();
  const owner_activity activity{
      .makes_slow_calls = visited_calls.exchange(calls, std::memory_order_relaxed) != calls,
      .uses_fronts = visited_tops.exchange(tops, std::memory_order_relaxed) != tops,
      .neglects_inbox = visited_takes.exchange(takes, std::memory_order_relaxed) == takes && takes != nothing_waits};
  if (activity.makes_slow_calls) {
    was_visited_asleep.store(false, std::memory_order_relaxed);
    must_tick.store(true, std::memory_order_relaxed);  // its slow calls may be few: tick() says why
  }
  if (activity.makes_slow_calls || activity.uses_fronts) were_fronts_emptied.store(false, std::memory_order_relaxed);
  return activity;
}

heap::emptied_fronts heap::fronts_to_empty(const owner_activity& activity, bool is_worth_it) noexcept {
  if (activity.makes_slow_calls) return emptied_fronts::no_class;
  if (!activity.uses_fronts) {
    return were_fronts_emptied.load(std::memory_order_relaxed) ? emptied_fronts::no_class : emptied_fronts::every_class;
  }
  // A hardened heap at work makes no slow calls that count, and its quarantine would go with the magazines. relaxed: a
  // count that two visitors change at once makes a visit early or late.
  const bool is_due = is_worth_it && !policy.is_closed() &&
                      (visits_in_use.fetch_add(1, std::memory_order_relaxed) + 1) % visits_to_idle == 0;
  return is_due ? emptied_fronts::idle_classes : emptied_fronts::no_class;
}

// Returns false if the visit ended early.
bool heap::visit_magazines(bool (*stop)() noexcept, emptied_fronts fronts) noexcept {
  const bool were_emptied = fronts != emptied_fronts::no_class && empty_fronts(stop, fronts);
  std::size_t purged_bytes = 0;
  const bool were_visited = visit_classes(stop, purged_bytes);
  was_visited_asleep.store(were_visited, std::memory_order_relaxed);
  if (fronts != emptied_fronts::every_class) return were_visited;
  were_fronts_emptied.store(were_emptied, std::memory_order_relaxed);
  return were_visited && were_emptied;
}

std::uint64_t heap::idle_front_bytes() const noexcept {
  constexpr std::size_t heaps_of_one_thread = 2;  // the process has one, too
  return registry::heap_count() > heaps_of_one_thread ? front_bytes.get() / 4 : 0;
}

// The memory of one heap counts as often as there are heaps: note_retained() says why.
bool heap::is_worth_visiting() const noexcept {
  return free_bytes() >= min_visited_bytes || !remote_inbox.empty() ||
         (free_bytes() + idle_front_bytes()) * registry::heap_count() >= min_visited_in_all;
}

platform::mutex& heap::visit_lock() noexcept {
  constinit static platform::mutex lock{platform::lock_rank::user};
  return lock;
}

// Two callers take turns. If the helper visits the heap meanwhile, this visit is left out.
std::size_t heap::visit_now() noexcept {
  std::size_t purged_bytes = 0;
  if (space != &central() || policy.is_shared() || policy.is_exact()) return purged_bytes;
  const auto never = []() noexcept { return false; };
  const platform::locked hold(visit_lock());
  if (state.load(std::memory_order_relaxed) == ownership::idle) {
    purge_without_owner(never, purged_bytes);
    return purged_bytes;
  }
  if (!visits.try_visit()) return purged_bytes;
  if (state.load(std::memory_order_acquire) == ownership::occupied) {
    take_inbox(taker::visitor);
    empty_fronts(never, emptied_fronts::every_class);
    visit_classes(never, purged_bytes);
  }
  visits.end_visit();
  return purged_bytes;
}

// Returns false if the visit ended early, because the owner waits or `stop` asked for it.
bool heap::visit_classes(bool (*stop)() noexcept, std::size_t& purged_bytes) noexcept {
  for (size_class index = 0; index < detail::class_count; ++index) {
    class_state& visited = classes[index];
    if (visited.full_magazines.first != nullptr) empty_depot(index);
    base::list<pages::slab>& available = visited.available;
    while (!available.empty() && available.front()->empty()) lose(available.front(), true);
    for (pages::slab* slab = available.front(); slab != nullptr; slab = slab->next) {
      if (stop() || visits.is_wanted()) return false;
      purged_bytes += slab->purge_free_pages();
    }
  }
  stock.clear();  // the arrays of the depots
  return true;
}

// Only the owner reads its inbox. So blocks that other threads free for a sleeping owner would wait until it wakes, and
// so would their memory. Senders therefore count the bytes of the words that they fill. When these are many, and the
// owner made no slow call since the last check, a sender takes the slabs out of the inbox, as the owner would. It
// returns slabs whose blocks are all remotely freed to the space. Such a slab has no free block, so it is in none of
// the owner's lists; and while it is out of the inbox no other thread can reach it. The other slabs go back to the
// inbox.
//
// This is done only for heaps over central(), and not for heaps that count their frees by class, which only the owner
// may do.
void heap::note_waiting(std::size_t bytes) noexcept {
  // relaxed: the sum only tells when a check is worth its cost.
  const std::uint64_t limit = policy.is_shared() ? shared_reclaim_bytes : reclaim_bytes.load(std::memory_order_relaxed);
  if (sent_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes < limit) [[likely]] {
    return;
  }
  if (policy.is_shared()) return collect_if_open();
  sent_bytes.store(0, std::memory_order_relaxed);
  const std::uint64_t calls = slow_calls.get();
  const std::uint64_t now = platform::now_ms();
  if (slow_calls_seen.exchange(calls, std::memory_order_relaxed) != calls) {
    slow_calls_seen_ms.store(now, std::memory_order_relaxed);
  } else if (now >= slow_calls_seen_ms.load(std::memory_order_relaxed) + asleep_ms) {  // another sender's may be later
    reclaim_for_owner();
  }
}

// All threads of a shared heap may sleep, and the helper does not visit it. So the sender becomes its owner for a
// moment. If another thread holds the lock, the next sender tries again. The helper, which may send a block on, leaves
// that to others: a child that loses it could not open the lock (open_locks_of_lost_helper).
void heap::collect_if_open() noexcept {
  if (platform::helper_locks::is_helper() || !mutex.try_lock()) return;
  collect();
  mutex.unlock();
}

bool heap::return_all() noexcept {
  const owner_scope hold(*this);
  const std::uint64_t calls = slow_calls.get();
  if (remote_inbox.empty() && calls_at_return.exchange(calls, std::memory_order_relaxed) == calls) return false;
  collect();
  flush_all();
  return true;
}

void heap::reclaim_for_owner() noexcept {
  if (space != &central() || policy.is_counting()) return;
  inbox::node* first = nullptr;
  inbox::node* last = nullptr;
  std::uint64_t kept_bytes = 0;
  inbox::node* list = nullptr;
  for (inbox::node *posted = remote_inbox.take_all(), *following = nullptr; posted != nullptr; posted = following) {
    following = posted->next_sent;
    if (posted->batch_blocks != 0) {
      list = unpack(*static_cast<remote_batch*>(posted), list);
    } else {
      posted->next_sent = list;
      list = posted;
    }
  }
  for (inbox::node *posted = list, *following = nullptr; posted != nullptr; posted = following) {
    following = posted->next_sent;
    pages::slab& home = *static_cast<pages::slab*>(posted);
    if (home.all_wait(pages::words_of(home.index), home.capacity)) {
      reclaim_slab(home);
      continue;
    }
    kept_bytes += home.units * pages::unit_bytes;
    posted->next_sent = first;
    first = posted;
    last = last == nullptr ? posted : last;
  }
  // The next walk over these slabs is worth its cost when a good part of them has changed.
  const std::uint64_t part = kept_bytes / 4;
  reclaim_bytes.store(part > first_reclaim_bytes ? part : first_reclaim_bytes, std::memory_order_relaxed);
  if (first != nullptr) {
    remote_inbox.post(*first, *last);
    tend_if_idle();
  }
}

void heap::reclaim_slab(pages::slab& home) noexcept {
  // The slab may have been adopted: its owner is the heap that the key names.
  heap& owner = *owner_in(detail::key_of<__ATOMIC_ACQUIRE>(home.start));
  home.take_remote([&](std::size_t word, std::uint64_t freed) {
    if (policy.is_hardened()) {
      check_remote_marks(home, word, freed, false);
    } else if (marks_blocks) {
      check_marks(home, word, freed, false);
    }
  });
  owner.reclaimed.slabs.fetch_add(1, std::memory_order_relaxed);
  owner.reclaimed.slab_bytes.fetch_add(home.units * pages::unit_bytes, std::memory_order_relaxed);
  owner.reclaimed.blocks.fetch_add(home.capacity, std::memory_order_relaxed);
  owner.reclaimed.block_bytes.fetch_add(std::uint64_t{home.capacity} * detail::size_of(home.index),
                                        std::memory_order_relaxed);
  space->deallocate(&home);
}

void heap::subtract_reclaimed() noexcept {
  if (reclaimed.slabs.load(std::memory_order_relaxed) == 0) return;
  slabs.subtract(reclaimed.slabs.exchange(0, std::memory_order_relaxed));
  slab_bytes.subtract(reclaimed.slab_bytes.exchange(0, std::memory_order_relaxed));
  remote_frees.add(reclaimed.blocks.exchange(0, std::memory_order_relaxed));
  const std::uint64_t bytes = reclaimed.block_bytes.exchange(0, std::memory_order_relaxed);
  remote_bytes.add(bytes);
  taken_bytes.subtract(bytes);
}

}  // namespace tarn::heaps
