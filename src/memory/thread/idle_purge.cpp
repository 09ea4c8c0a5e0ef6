#include "memory/thread/idle_purge.hpp"

#include <pthread.h>

#include <atomic>

#include "base/options.hpp"
#include "memory/heap/array_pool.hpp"
#include "memory/heap/registry.hpp"
#include "memory/heap/spaces.hpp"
#include "platform/helper.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"

namespace tarn::threads {
namespace {

/// After the system refused a helper, the next attempt waits this long.
constexpr std::uint64_t pause_after_refusal_ms = 1000;
/// A fork waits at most this long for the helper to leave the spaces; before_fork says why.
constexpr int most_fork_waits_ms = 1000;
/// An unload waits at most this long for the end of the helper. A signal handler may call exit() where it interrupted
/// malloc, under a lock for which the helper waits.
constexpr std::uint32_t most_end_wait_ms = 10'000;

/// True while a helper runs or starts.
constinit std::atomic<bool> running{false};
constinit std::atomic<std::uint64_t> next_attempt_ms{0};

/// The helper and a forking thread exclude each other with Dekker's algorithm: each announces itself, then checks for
/// the other. The two operations of each are sequentially consistent. With any weaker order both may check before
/// either has announced itself, and then the child's copy of a space may be in the middle of a change.
constinit std::atomic<bool> visiting{false};
constinit std::atomic<std::uint32_t> forks{0};

/// A value other than 0 means that the code is about to be unmapped: no helper may stay or start. The helper sleeps on
/// this word.
constinit std::atomic<std::uint32_t> ended{0};
const std::uint32_t* ended_word() noexcept { return reinterpret_cast<const std::uint32_t*>(&ended); }
// relaxed: nothing was written before that the helper needs, and wait_for_helper_end orders what follows.
bool has_ended() noexcept { return ended.load(std::memory_order_relaxed) != 0; }

/// False: heap::visit() cannot be called here.
constinit std::atomic<bool> visits_heaps{false};

// True: the helper must leave the spaces soon.
bool must_leave() noexcept { return forks.load(std::memory_order_seq_cst) != 0 || has_ended(); }

// Visits all heaps, and purges all spaces. True: some space still has memory that is due later.
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
    spaces_remain = visited.may_purge_later() || spaces_remain;
  });
  // A program that works in waves needs the arrays again, and its spaces have memory to give back between the waves. An
  // owner at work always has some, in its heap.
  bool arrays_remain = false;
  if (!spaces_remain && !must_leave()) {
    heaps::arrays.purge(false);
    arrays_remain = heaps::arrays.may_purge_later();
  }
  return heaps_remain || spaces_remain || arrays_remain;
}

bool visit() noexcept {
  visiting.store(true, std::memory_order_seq_cst);
  const bool remaining = must_leave() || visit_spaces();
  visiting.store(false, std::memory_order_release);
  return remaining;
}

// The helper must not end while there is work and no thread starts another helper:
//
//   helper                        a thread that frees
//   1 running = false
//   2 reads the space             3 frees a run, under the lock of the space
//                                 4 reads `running`
//
// If 2 has the lock of the space before 3, then 1 happens before 4, and the thread starts a new helper. Otherwise 2
// sees the run, and the helper continues.
void work() noexcept {
  const std::uint32_t interval_ms = base::current_options().purge_delay_ms / 4 + 10;
  visits_heaps.store(platform::prepare_barriers(), std::memory_order_relaxed);
  do {
    do {
      platform::sleep_while(ended_word(), 0, interval_ms);
    } while (!has_ended() && visit());
    running.store(false, std::memory_order_seq_cst);
  } while (!has_ended() && visit() && !running.exchange(true, std::memory_order_seq_cst));
}

// Starts a helper if none runs. Any thread calls it, perhaps in the middle of free(), so it takes no lock and
// allocates nothing.
void request() noexcept {
  if (running.load(std::memory_order_seq_cst) || has_ended()) {
    return;
  }
  const std::uint64_t now = platform::now_ms();
  if (now < next_attempt_ms.load(std::memory_order_relaxed) || running.exchange(true, std::memory_order_seq_cst)) {
    return;
  }
  if (!platform::start_helper(work)) {
    next_attempt_ms.store(now + pause_after_refusal_ms, std::memory_order_relaxed);
    running.store(false, std::memory_order_seq_cst);
  }
}

// The wait is bounded. A signal handler may fork where it interrupted malloc while its thread held the lock of a
// space, and the helper may wait for that lock.
void before_fork() noexcept {
  forks.fetch_add(1, std::memory_order_seq_cst);
  for (int wait = 0; wait < most_fork_waits_ms && visiting.load(std::memory_order_seq_cst); ++wait) {
    platform::sleep_ms(1);
  }
}
void after_fork_in_parent() noexcept { forks.fetch_sub(1, std::memory_order_relaxed); }
void after_fork_in_child() noexcept {
  forks.store(0, std::memory_order_relaxed);
  visiting.store(false, std::memory_order_relaxed);
  running.store(false, std::memory_order_relaxed);
  platform::forget_helper();
}

}  // namespace

void end_idle_purge() noexcept {
  ended.store(1, std::memory_order_relaxed);
  platform::wake_one(ended_word());
  // A thread that starts a helper meanwhile is itself in code that is about to be unmapped.
  (void)platform::wait_for_helper_end(most_end_wait_ms);
}

void install_idle_purge() noexcept {
  const base::options& options = base::current_options();
  if (!options.background_purge || options.purge_delay_ms == 0) {
    return;
  }
  // These handlers are installed after the engine's own, so they run before them, when no lock is held yet.
  if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0) {
    pages::space::call_when_retaining(request);
  }
}

}  // namespace tarn::threads
