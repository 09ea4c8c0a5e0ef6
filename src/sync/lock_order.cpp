// The orders in which threads took locks, as a graph: an edge from A to B says that a thread tried to take B while it
// held A. A new edge that closes a cycle is a potential deadlock. It is reported when the edge is made, before any
// thread waits.
#include <tarn/detail/async_lock.hpp>
#include <tarn/detail/lock_watch.hpp>
#include <tarn/detail/thread_end.hpp>

#include "sync/faults.hpp"

#if TARN_CHECKS

#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <deque>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "platform/fork_section.hpp"
#include "platform/mutex.hpp"
#include "platform/platform.hpp"

namespace tarn::detail {

namespace {

using sync::lock_pair;
using sync::lock_site;

struct held_lock {
  lock_watch* watch = nullptr;
  lock_site site;
};

/// The locks that a thread holds, oldest first. Locks beyond the array are not checked.
struct held_locks {
  static constexpr std::size_t limit = 64;
  std::size_t count = 0;
  std::size_t unseen = 0;
  bool is_busy = false;  ///< the checker itself is running; locks that its allocations take are not checked
  held_lock locks[limit] = {};
};
// It has no constructor and no destructor, because handles may live in thread_local objects.
constinit thread_local held_locks thread_locks;
static_assert(std::is_trivially_destructible_v<held_locks>);

/// Runs at the end of a thread and reports a lock that the thread still holds, because nothing can release it any more.
/// Handles in thread_local objects are destroyed by then, because the thread registered this task when it made the
/// first of them. In the main thread, static handles still exist.
struct held_lock_check : thread_end_task {
  static void run(thread_end_task*) noexcept {
    if (thread_locks.count != 0 && platform::thread_number() != static_cast<std::uint32_t>(getpid())) {
      sync::fault_held_for_ever(thread_locks.locks[0].site);
    }
  }
  bool is_registered;
};
constinit thread_local held_lock_check check_at_end{{nullptr, held_lock_check::run}, false};

/// Says that the checker itself runs, until it is destroyed. A destructor that the checker's allocations run may nest
/// one inside another.
class busy_section {
 public:
  busy_section() noexcept : was_busy_(std::exchange(thread_locks.is_busy, true)) {}
  ~busy_section() { thread_locks.is_busy = was_busy_; }
  busy_section(const busy_section&) = delete;
  busy_section& operator=(const busy_section&) = delete;

 private:
  bool was_busy_;
};

}  // namespace

/// The graph of lock orders. Ids are never reused, so an edge to a destroyed lock is harmless.
class lock_order {
 public:
  static lock_order& instance() {
    static lock_order* const graph = new lock_order;  // never destroyed, because locks may be static, too
    return *graph;
  }

  void note(const held_lock& earlier, lock_watch& next, const lock_site& site) {
    const platform::locked hold(mutex_);
    add(earlier, next, site);
  }

  void note_in_coroutine(const void* coroutine, lock_watch& next, const lock_site& site) {
    const platform::locked hold(mutex_);
    if (const auto locks = of_coroutines_.find(coroutine); locks != of_coroutines_.end()) {
      for (const held_lock& earlier : locks->second) {
        check(earlier, next, site);
        add(earlier, next, site);
      }
    }
  }
  void take_in_coroutine(const void* coroutine, lock_watch& watch, const lock_site& site) {
    const platform::locked hold(mutex_);
    of_coroutines_[coroutine].push_back({&watch, site});
    watch.coroutine_ = coroutine;
  }
  void leave_coroutine(lock_watch& left) {
    const platform::locked hold(mutex_);
    const auto locks = of_coroutines_.find(left.coroutine_);
    std::erase_if(locks->second, [&](const held_lock& candidate) { return candidate.watch == &left; });
    if (locks->second.empty()) of_coroutines_.erase(locks);
    left.coroutine_ = nullptr;
  }

  /// Ends the program when the thread that holds `earlier` must not take `next`.
  static void check(const held_lock& earlier, const lock_watch& next, const lock_site& site) noexcept {
    if (earlier.watch == &next) {
      sync::fault_lock_twice({earlier.site, site});
    }
    if (site.level != 0 && earlier.site.level >= site.level) {
      sync::fault_lock_rank({earlier.site, site});
    }
  }

  void forget(lock_watch& watch) {
    const platform::locked hold(mutex_);
    const auto entry = nodes_.find(watch.id_);
    for (const auto& [after, pair] : entry->second.after) nodes_[after].before.erase(watch.id_);
    for (const std::uint64_t before : entry->second.before) nodes_[before].after.erase(watch.id_);
    nodes_.erase(entry);
  }

 private:
  struct node {
    std::unordered_map<std::uint64_t, lock_pair> after;
    std::unordered_set<std::uint64_t> before;
  };

  // Registers at load, because a fork that has already begun ignores handlers that are registered later. It also makes
  // the graph, because a fork handler must not allocate: a signal handler may fork inside malloc.
  [[gnu::constructor]] static void register_fork_handlers() noexcept {
    instance();
    pthread_atfork([] { instance().prepare_fork(); }, [] { instance().finish_fork_in_parent(); },
                   [] { instance().finish_fork_in_child(); });
  }

  void prepare_fork() noexcept {
    if (forking_.enter()) {
      mutex_.lock_for_fork();
      forking_.note_owner();
    }
  }
  void finish_fork_in_parent() noexcept {
    if (forking_.leave()) mutex_.unlock_after_fork();
  }
  void finish_fork_in_child() noexcept {
    if (forking_.leave_in_child()) mutex_.reset();
  }

  std::uint64_t id_of(lock_watch& watch) {
    if (watch.id_ == 0) watch.id_ = ++last_;
    return watch.id_;
  }

  // The caller holds the mutex.
  void add(const held_lock& earlier, lock_watch& next, const lock_site& site) {
    const std::uint64_t held_id = id_of(*earlier.watch), wanted_id = id_of(next);
    if (!nodes_[held_id].after.try_emplace(wanted_id, lock_pair{earlier.site, site}).second) return;
    nodes_[wanted_id].before.insert(held_id);
    if (std::vector<lock_pair> way = path(wanted_id, held_id); !way.empty()) {
      sync::fault_lock_order({earlier.site, site}, way.data(), std::min<std::size_t>(way.size(), 3));
    }
  }

  /// Returns the shortest path from one lock to another along edges; empty when there is none.
  std::vector<lock_pair> path(std::uint64_t start, std::uint64_t target) {
    std::unordered_map<std::uint64_t, std::uint64_t> came_from{{start, 0}};
    std::deque<std::uint64_t> open{start};
    while (!open.empty() && !came_from.contains(target)) {
      const std::uint64_t visited = open.front();
      open.pop_front();
      for (const auto& [next, pair] : nodes_[visited].after) {
        if (came_from.try_emplace(next, visited).second) open.push_back(next);
      }
    }
    std::vector<lock_pair> way;
    if (came_from.contains(target)) {
      for (std::uint64_t visited = target; visited != start; visited = came_from[visited]) {
        way.push_back(nodes_[came_from[visited]].after.at(visited));
      }
    }
    std::reverse(way.begin(), way.end());
    return way;
  }

  platform::mutex mutex_{platform::lock_rank::user};
  platform::fork_section forking_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, node> nodes_;
  std::unordered_map<const void*, std::vector<held_lock>> of_coroutines_;  ///< the locks that each one holds
};

lock_watch::~lock_watch() {
  if (holders_.load(std::memory_order_relaxed) != 0) {
    sync::fault_destroyed_while_held(object_.load(std::memory_order_relaxed), name_);
  }
  if (waiting_.load(std::memory_order_relaxed) != 0) {
    sync::fault_destroyed_while_awaited(object_.load(std::memory_order_relaxed), name_);
  }
  if (id_ != 0) {
    const busy_section section;
    lock_order::instance().forget(*this);
  }
}

void lock_watch::note_attempt(const void* object, const std::source_location& location) {
  object_.store(object, std::memory_order_relaxed);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  if (thread_locks.is_busy) return;
  const lock_site site{object, name_, level_, location};
  for (std::size_t index = 0; index < thread_locks.count; ++index) {
    lock_order::check(thread_locks.locks[index], *this, site);
  }
  const busy_section section;
  try {
    for (std::size_t index = 0; index < thread_locks.count; ++index) {
      lock_order::instance().note(thread_locks.locks[index], *this, site);
    }
  } catch (const std::bad_alloc&) {  // an unknown order is no reason to fail
  }
}

void lock_watch::note_acquired_at_once(const void* object, const std::source_location& location) noexcept {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  note_acquired(object, location);
}

void lock_watch::note_acquired(const void* object, const std::source_location& location) noexcept {
  holders_.fetch_add(1, std::memory_order_relaxed);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  object_.store(object, std::memory_order_relaxed);
  if (thread_locks.is_busy) return;
  if (thread_locks.count == held_locks::limit) {
    ++thread_locks.unseen;
    return;
  }
  if (!check_at_end.is_registered) check_at_end.is_registered = at_thread_end(check_at_end);
  thread_locks.locks[thread_locks.count++] = held_lock{this, {object, name_, level_, location}};
}

void lock_watch::note_released(const void* object) noexcept {
  holders_.fetch_sub(1, std::memory_order_relaxed);
  if (thread_locks.is_busy) return;
  for (std::size_t index = thread_locks.count; index != 0; --index) {
    if (thread_locks.locks[index - 1].watch == this) {
      std::move(thread_locks.locks + index, thread_locks.locks + thread_locks.count, thread_locks.locks + index - 1);
      --thread_locks.count;
      return;
    }
  }
  if (thread_locks.unseen == 0) sync::fault_not_the_holder(object, name_);
  --thread_locks.unseen;
}

void lock_watch::note_attempt_in_coroutine(const void* coroutine, const void* object,
                                           const std::source_location& location) {
  const busy_section section;
  try {
    lock_order::instance().note_in_coroutine(coroutine, *this, {object, name_, level_, location, true});
  } catch (const std::bad_alloc&) {  // an unknown order is no reason to fail
  }
}

void lock_watch::note_acquired_in_coroutine(const void* coroutine, const void* object,
                                            const std::source_location& location) noexcept {
  const busy_section section;
  try {
    lock_order::instance().take_in_coroutine(coroutine, *this, {object, name_, level_, location, true});
  } catch (const std::bad_alloc&) {
  }
}

void lock_watch::forget_coroutine() noexcept {
  if (coroutine_ == nullptr) return;
  const busy_section section;
  lock_order::instance().leave_coroutine(*this);
}

void check_nothing_is_held(const void* waiting_object, const std::source_location& location) noexcept {
  if (thread_locks.count != 0) sync::fault_suspended_while_held(thread_locks.locks[0].site, waiting_object, location);
}
void fault_async_destroyed(const void* object) noexcept { sync::fault_async_destroyed(object); }

}  // namespace tarn::detail

#endif
