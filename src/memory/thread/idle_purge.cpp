#include "memory/thread/idle_purge.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>

#include "base/options.hpp"
#include "memory/heap/array_pool.hpp"
#include "memory/heap/registry.hpp"
#include "memory/heap/spaces.hpp"
#include "memory/thread/fork.hpp"
#include "platform/helper.hpp"
#include "platform/helper_locks.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::threads {
namespace {

/// After the system refused a helper, the next attempt waits this long.
constexpr std::uint64_t pause_after_refusal_ms = 1000;
/// A fork waits at most this long for the helper to leave the spaces; prepare_fork says why.
constexpr std::uint64_t max_fork_wait_ms = 1000;
/// An unload waits at most this long for the end of the helper. A signal handler may call exit() where it interrupted
/// malloc, under a lock for which the helper waits.
constexpr std::uint32_t max_end_wait_ms = 10'000;
/// A call that changes the identity of the process waits at most this long for the end of the helper, for the same
/// reason.
constexpr std::uint32_t max_pause_wait_ms = 1000;

/// A helper runs or is being started.
constinit std::atomic<bool> is_running{false};
constinit std::atomic<std::uint64_t> next_attempt_ms{0};

/// The helper and a forking thread exclude each other with Dekker's algorithm: each announces itself, then checks for
/// the other. The two operations of each are sequentially consistent. With any weaker order both may check before
/// either has announced itself, and then the child's copy of a space may be in the middle of a change.
constinit std::atomic<bool> is_visiting{false};
constinit std::atomic<std::uint32_t> forks{0};

/// A helper leaves when the number of stops is no longer the one with which it was started. The helper sleeps on this
/// word.
constinit std::atomic<std::uint32_t> stops{0};
constinit std::uint32_t stops_at_start = 0;   ///< written by the thread that starts a helper
constinit std::uint32_t stops_of_helper = 0;  ///< the helper's own copy
const std::uint32_t* stops_word() noexcept { return reinterpret_cast<const std::uint32_t*>(&stops); }
bool is_stopped() noexcept { return stops.load(std::memory_order_seq_cst) != stops_of_helper; }

/// No helper starts while a thread is in a helper_pause, and none once `has_ended` is true.
constinit std::atomic<std::uint32_t> pauses{0};
constinit std::atomic<bool> has_ended{false};
/// The process that these variables describe. A child of vfork has another number, and shares them with its parent.
constinit std::atomic<pid_t> home_process{0};
bool is_home_process() noexcept { return home_process.load(std::memory_order_relaxed) == getpid(); }

/// Becomes true when heap::visit() can be called in this process.
constinit std::atomic<bool> visits_heaps{false};

// Returns true if the helper must leave the spaces soon.
bool must_leave() noexcept { return forks.load(std::memory_order_seq_cst) != 0 || is_stopped(); }

// Visits all heaps, and purges all spaces. Returns true if some space still has memory that is due later.
bool visit_spaces() noexcept {
  const std::uint64_t now = platform::now_ms();
  const std::uint32_t delay_ms = base::current_options().purge_delay_ms;
  bool heaps_remain = false;
  bool spaces_remain = false;
  heaps::registry::for_all([&](heaps::heap& visited) {
    if (!must_leave()) {
      visited.visit_large_cache(false);
      heaps_remain = (visits_heaps.load(std::memory_order_relaxed) && visited.visit(must_leave)) || heaps_remain;
    }
  });
  heaps::spaces::for_all([&](pages::space& visited) {
    // A fork waits for the end of this visit, and purging much memory takes long: one call gives back 64 MiB at most.
    while (!must_leave() && visited.purge(now, delay_ms)) {
    }
    spaces_remain = must_leave() || visited.may_purge_later() || spaces_remain;
  });
  // A program whose memory use rises and falls needs the arrays again; while it falls, its spaces have memory to give
  // back. An owner at work always has some arrays, in its heap.
  bool arrays_remain = false;
  if (!spaces_remain && !must_leave()) {
    heaps::arrays.purge(false);
    arrays_remain = heaps::arrays.may_purge_later();
  }
  return heaps_remain || spaces_remain || arrays_remain;
}

bool visit() noexcept {
  is_visiting.store(true, std::memory_order_seq_cst);
  const bool is_any_left = must_leave() || visit_spaces();
  is_visiting.store(false, std::memory_order_release);
  return is_any_left;
}

// The helper must not end while there is work and no thread starts another helper:
//
//   helper                        a thread that frees
//   1 running = false
//   2 reads the space             3 frees a run, under the lock of the space
//                                 4 reads `is_running`
//
// If 2 has the lock of the space before 3, then 1 happens before 4, and the thread starts a new helper. Otherwise 2
// sees the run, and the helper continues.
void work() noexcept {
  stops_of_helper = stops_at_start;
  platform::helper_locks::enter();
  const std::uint32_t interval_ms = base::current_options().purge_delay_ms / 4 + 10;
  visits_heaps.store(platform::prepare_barriers(), std::memory_order_relaxed);
  do {
    do {
      platform::sleep_while(stops_word(), stops_of_helper, interval_ms);
    } while (!is_stopped() && visit());
    is_running.store(false, std::memory_order_seq_cst);
  } while (!is_stopped() && visit() && !is_running.exchange(true, std::memory_order_seq_cst));
  platform::helper_locks::leave();
}

// Starts a helper if none runs. Any thread calls it, perhaps in the middle of free(), so it takes no lock and
// allocates nothing.
void request() noexcept {
  if (is_running.load(std::memory_order_seq_cst) || has_ended.load(std::memory_order_relaxed)) return;
  const std::uint64_t now = platform::now_ms();
  if (now < next_attempt_ms.load(std::memory_order_relaxed) || is_running.exchange(true, std::memory_order_seq_cst)) {
    return;
  }
  home_process.store(getpid(), std::memory_order_relaxed);
  stops_at_start = stops.load(std::memory_order_seq_cst);
  const bool is_paused = pauses.load(std::memory_order_seq_cst) != 0 || has_ended.load(std::memory_order_seq_cst);
  if (is_paused || !platform::start_helper(work)) {
    next_attempt_ms.store(is_paused ? now : now + pause_after_refusal_ms, std::memory_order_relaxed);
    is_running.store(false, std::memory_order_seq_cst);
  }
}

// Ends the helper, and waits until the kernel no longer counts it. No other helper starts meanwhile: `pauses` is not 0
// or `has_ended` is true. The thread that starts a helper and this one exclude each other with Dekker's algorithm, so
// all operations are sequentially consistent:
//
//   request()                         this thread
//   1 is_running = true               4 ++pauses
//   2 stops_at_start = stops          5 reads `is_running`, and then ++stops
//   3 reads `pauses`                  6 waits until `is_running` is false and no helper is there
//
// With any weaker order 5 may miss 1 while 3 misses 4, and a helper would start with the identity that this thread is
// about to change. If 3 misses 4, then 2 comes before ++stops of 5, and the helper leaves.
void stop_helper(std::uint32_t max_ms) noexcept {
  if (!is_running.load(std::memory_order_seq_cst) && platform::wait_for_helper_end(0)) return;
  stops.fetch_add(1, std::memory_order_seq_cst);
  platform::wake_one(stops_word());
  const std::uint64_t last_ms = platform::now_ms() + max_ms;
  while (is_running.load(std::memory_order_seq_cst) && platform::now_ms() < last_ms) {
    (void)platform::wait_for_helper_end(1);
    sched_yield();
  }
  const std::uint64_t now = platform::now_ms();
  (void)platform::wait_for_helper_end(now < last_ms ? static_cast<std::uint32_t>(last_ms - now) : 0);
}

// A signal handler that forks in a program of one thread may have interrupted malloc while the thread held a lock for
// which the helper waits. Such a fork does not wait for the helper (platform/helper_locks.hpp), and the child opens the
// locks that the helper held. The wait is bounded, because a debugger may stop the helper alone.
void prepare_fork() noexcept {
  forks.fetch_add(1, std::memory_order_seq_cst);
  if (!is_visiting.load(std::memory_order_seq_cst)) return;
  const bool is_only_thread = platform::is_only_thread();
  const std::uint64_t last_ms = platform::now_ms() + max_fork_wait_ms;
  do {
    if (is_only_thread && platform::helper_locks::waits_for_caller()) return;
    platform::sleep_ms(1);
  } while (is_visiting.load(std::memory_order_seq_cst) && platform::now_ms() < last_ms);
}
// release: a helper that enters the spaces from now on comes after the fork.
void finish_fork_in_parent() noexcept { forks.fetch_sub(1, std::memory_order_release); }
void finish_fork_in_child() noexcept {
  if (is_visiting.load(std::memory_order_relaxed)) open_locks_of_lost_helper();
  platform::helper_locks::reset_after_fork();
  forks.store(0, std::memory_order_relaxed);
  is_visiting.store(false, std::memory_order_relaxed);
  is_running.store(false, std::memory_order_relaxed);
  pauses.store(0, std::memory_order_relaxed);
  home_process.store(getpid(), std::memory_order_relaxed);
  platform::forget_helper();
}

}  // namespace

void end_idle_purge() noexcept {
  has_ended.store(true, std::memory_order_seq_cst);
  stop_helper(max_end_wait_ms);
}

pid_t fork_beside_helper(pid_t (*fork)()) noexcept {
  prepare_fork();
  const pid_t child = fork();
  if (child == 0) {
    finish_fork_in_child();
  } else {
    finish_fork_in_parent();
  }
  return child;
}

bool may_visit() noexcept { return !has_ended.load(std::memory_order_relaxed) && platform::prepare_barriers(); }

helper_pause::helper_pause() noexcept : is_counted_(is_home_process()) {
  if (is_counted_) {
    pauses.fetch_add(1, std::memory_order_seq_cst);
    stop_helper(max_pause_wait_ms);
  }
}

helper_pause::~helper_pause() {
  // A signal handler may fork during a pause. Its child begins at 0, and leaves the pause, too.
  std::uint32_t count = is_counted_ ? pauses.load(std::memory_order_relaxed) : 0;
  // release: a helper that starts from now on comes after the call that the pause was for.
  while (count != 0 && !pauses.compare_exchange_weak(count, count - 1, std::memory_order_release)) {
  }
}

void helper_pause::make_final() const noexcept {
  if (is_counted_) has_ended.store(true, std::memory_order_seq_cst);
}

void install_idle_purge() noexcept {
  const base::options& options = base::current_options();
  if (!options.purges_in_background || options.purge_delay_ms == 0) return;
  home_process.store(getpid(), std::memory_order_relaxed);
  // These handlers are installed after the engine's own, so they run before them, when no lock is held yet.
  if (pthread_atfork(prepare_fork, finish_fork_in_parent, finish_fork_in_child) == 0) {
    pages::space::call_when_retaining(request);
  }
}

}  // namespace tarn::threads
