// The orders that let a thread fork while the helper that gives memory back waits for a lock, or while it is outside of
// the spaces, under the memory model of C++: helper_locks.pml again, with loads that are old and stores that are late.
// A fork reads all memory, so here it reads what the helper writes: Relacy reports a race where the child could have
// got a change by half. Relacy runs every interleaving of the two threads, with every value that a load may give.
//
// helper_locks::lock and helper_locks::waits_for_caller (src/platform/helper_locks.hpp), spin_mutex::try_lock and
// spin_mutex::unlock (include/tarn/spin_mutex.hpp), and prepare_fork, finish_fork_in_parent and visit
// (src/memory/thread/idle_purge.cpp) are copied below.
//
// usage: models_helper_locks_weak [MUTANT]; exits 1 when a fork reads memory that the helper is writing. The mutants
// stand in main; LOOK_ONCE reads `awaited` only before it reads the lock.
#include <cstring>

#include <relacy/relacy.hpp>

namespace {

// The memory orders of the code, each of which a mutant may weaken.
struct memory_orders {
  rl::memory_order take = rl::mo_acq_rel;      // helper_locks::lock
  rl::memory_order announce = rl::mo_release;  // awaited_ = the lock
  rl::memory_order look = rl::mo_acquire;      // waits_for_caller's first look at awaited_
  rl::memory_order ask = rl::mo_acquire;       // its look at the lock
  rl::memory_order enter = rl::mo_seq_cst;     // is_visiting = true
  rl::memory_order read_forks = rl::mo_seq_cst;
  rl::memory_order leave = rl::mo_release;      // is_visiting = false
  rl::memory_order count = rl::mo_seq_cst;      // ++forks
  rl::memory_order ask_visit = rl::mo_seq_cst;  // the thread's look at is_visiting
  rl::memory_order end = rl::mo_release;        // --forks
} orders;
bool looks_once = false;

enum : unsigned { open, locked, contended };

struct fork_beside_helper : rl::test_suite<fork_beside_helper, 2> {
  rl::atomic<unsigned> word;    // of the lock
  rl::atomic<bool> is_awaited;  // awaited_: there is one lock here
  rl::atomic<bool> is_visiting;
  rl::atomic<unsigned> forks;
  rl::var<int> early_changes;  // what the helper changes before it takes the lock
  rl::var<int> changes;        // what the lock guards

  void before() {
    word.store(open, rl::mo_relaxed, $);
    is_awaited.store(false, rl::mo_relaxed, $);
    is_visiting.store(false, rl::mo_relaxed, $);
    forks.store(0, rl::mo_relaxed, $);
    early_changes($) = 0;
    changes($) = 0;
  }

  bool try_lock() {
    unsigned expected = open;
    return word.compare_exchange_strong(expected, locked, rl::mo_acquire, $, rl::mo_relaxed, $);
  }
  void unlock() { word.exchange(open, rl::mo_release, $); }

  // The wait in the kernel may end for no reason. After two of them the search goes no further: returns false.
  bool lock_by_helper() {
    if (try_lock()) return true;
    for (int attempts = 0; attempts < 2; ++attempts) {
      if (word.exchange(contended, orders.take, $) == open) return true;
      is_awaited.store(true, orders.announce, $);
      if (attempts == 1) return false;
      is_awaited.store(false, rl::mo_relaxed, $);
    }
    return false;
  }

  void visit() {
    is_visiting.store(true, orders.enter, $);
    if (forks.load(orders.read_forks, $) == 0) {
      early_changes($) = early_changes($) + 1;
      for (int round = 0; round < 2; ++round) {
        if (!lock_by_helper()) return;
        changes($) = changes($) + 1;
        unlock();
      }
    }
    is_visiting.store(false, orders.leave, $);
  }

  bool waits_for_caller() {
    return is_awaited.load(orders.look, $) && word.load(orders.ask, $) != open &&
           (looks_once || is_awaited.load(rl::mo_relaxed, $));
  }

  // `has_lock`: a signal handler forks where it interrupted a call under the lock.
  void fork(bool has_lock) {
    forks.fetch_add(1, orders.count, $);
    const bool has_left = !is_visiting.load(orders.ask_visit, $);
    if (has_left || waits_for_caller()) {  // otherwise it sleeps, and asks again
      RL_ASSERT(has_left || has_lock);
      RL_ASSERT(early_changes($) >= 0 && changes($) >= 0);
    }
    forks.fetch_sub(1, orders.end, $);
  }

  void thread(unsigned number) {
    if (number == 0) {
      visit();
      return;
    }
    const bool has_lock = try_lock();
    const bool is_interrupted = has_lock && rl::rand(2) == 0;
    if (has_lock) changes($) = changes($) + 1;
    if (has_lock && !is_interrupted) unlock();
    fork(is_interrupted);
    if (is_interrupted) unlock();
  }
};

struct mutant {
  const char* name;
  rl::memory_order memory_orders::*member;
  rl::memory_order weaker;
};
constexpr mutant mutants[] = {
    {"WEAK_TAKE", &memory_orders::take, rl::mo_acquire},
    {"RELAXED_ANNOUNCE", &memory_orders::announce, rl::mo_relaxed},
    {"RELAXED_LOOK", &memory_orders::look, rl::mo_relaxed},
    {"RELAXED_ASK", &memory_orders::ask, rl::mo_relaxed},
    {"WEAK_ENTER", &memory_orders::enter, rl::mo_release},
    {"WEAK_FORKS", &memory_orders::read_forks, rl::mo_acquire},
    {"RELAXED_LEAVE", &memory_orders::leave, rl::mo_relaxed},
    {"WEAK_COUNT", &memory_orders::count, rl::mo_acq_rel},
    {"WEAK_VISIT", &memory_orders::ask_visit, rl::mo_acquire},
    {"RELAXED_END", &memory_orders::end, rl::mo_relaxed},
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "LOOK_ONCE") == 0) {
    looks_once = true;
  } else if (count > 1) {
    const mutant* chosen_mutant = nullptr;
    for (const mutant& candidate : mutants) {
      if (std::strcmp(candidate.name, arguments[1]) == 0) chosen_mutant = &candidate;
    }
    if (chosen_mutant == nullptr) {
      std::cerr << arguments[1] << ": no such mutant\n";
      return 2;
    }
    orders.*chosen_mutant->member = chosen_mutant->weaker;
  }
  rl::test_params search;
  search.search_type = rl::fair_full_search_scheduler_type;
  search.iteration_count = 100'000'000;  // more than there are
  const bool is_correct = rl::simulate<fork_beside_helper>(search);
  std::cout << (is_correct ? "holds in all of " : "fails after ") << search.stop_iteration << " executions\n";
  return is_correct ? 0 : 1;
}
