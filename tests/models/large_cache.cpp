// The two slots of a bin of a large cache, under the memory model of C++. The owner puts a run in, takes one out, puts
// it in again and ends; another thread frees a run of the same heap meanwhile; a third visits twice, as the helper of
// thread/idle_purge does. Relacy runs the interleavings of up to four switches, with every value that a load may give.
//
// large_cache::take, large_cache::put and large_cache::visit (src/memory/heap/large_cache.hpp, large_cache.cpp) and the
// ends of heap::deallocate_large and heap::retire are copied below; a run is its number here.
//
// usage: models_large_cache [MUTANT]; exits 1 when a run is lost, or with two threads. The mutants:
//   VISIT_STORES   the visitor empties a slot with a store
//   ANY_STORES     every thread stores into an empty slot of the owner
//   LATE_PUT       a run is put in without a release
//   BLIND_FREE     who frees does not look whether the owner has ended
//   WEAK_FREE      it looks, but nothing orders that after the put
//   WEAK_VISIT     who visits on behalf of an ended owner may read an old slot
#include <cstring>

#include <relacy/relacy.hpp>

namespace {

bool visits_store = false;
bool stores_from_any_thread = false;
bool frees_blindly = false;
rl::memory_order putting = rl::mo_release;
rl::memory_order freeing = rl::mo_seq_cst;
rl::memory_order looking = rl::mo_seq_cst;

constexpr int marked = 16;
constexpr int runs = 2;

struct cache : rl::test_suite<cache, 3> {
  rl::atomic<int> owners, shared;  ///< 0: empty; else the number of a run, perhaps marked
  rl::atomic<bool> idle;
  rl::var<int> units[runs + 1];  ///< the description of each run, which its holder writes
  rl::atomic<int> give_counts[runs + 1];

  void before() {
    owners.store(0, rl::mo_relaxed, $);
    shared.store(0, rl::mo_relaxed, $);
    idle.store(false, rl::mo_relaxed, $);
    for (auto& count : give_counts) count.store(0, rl::mo_relaxed, $);
    for (auto& unit : units) VAR(unit) = 0;
  }

  void use(int run) { VAR(units[run]) = VAR(units[run]) + 1; }

  void give(int run) {
    use(run);
    RL_ASSERT(give_counts[run].fetch_add(1, rl::mo_relaxed, $) == 0);
  }

  bool put(int run, bool is_owner) {
    if ((is_owner || stores_from_any_thread) && owners.load(rl::mo_relaxed, $) == 0) {
      owners.store(run, putting, $);
      return true;
    }
    int expected = 0;
    return shared.compare_exchange_strong(expected, run, freeing, $);
  }

  int take() {
    for (rl::atomic<int>* slot : {&owners, &shared}) {
      int value = slot->load(rl::mo_relaxed, $);
      while (value != 0) {
        if (slot->compare_exchange_strong(value, 0, rl::mo_acquire, $)) return value % marked;
      }
    }
    return 0;
  }

  void visit(bool takes_unmarked) {
    for (rl::atomic<int>* slot : {&owners, &shared}) {
      int value = slot->load(looking, $);
      while (value != 0) {
        const bool takes_run = takes_unmarked || value > marked;
        if (visits_store && takes_run) {
          slot->store(0, rl::mo_relaxed, $);
        } else if (!slot->compare_exchange_strong(value, takes_run ? 0 : value + marked, rl::mo_acquire, $)) {
          continue;
        }
        if (takes_run) give(value % marked);
        break;
      }
    }
  }

  void thread(unsigned number) {
    if (number == 0) {  // the owner
      int run = 1;
      use(run);
      if (!put(run, true)) give(run);
      run = take();
      if (run != 0) {
        use(run);
        if (!put(run, true)) give(run);
      }
      idle.store(true, rl::mo_seq_cst, $);
      visit(true);
    } else if (number == 1) {
      use(2);
      if (!put(2, false)) {
        give(2);
      } else if (!frees_blindly && idle.load(freeing == rl::mo_seq_cst ? rl::mo_seq_cst : rl::mo_relaxed, $)) {
        visit(true);
      }
    } else {
      visit(false);
      visit(false);
    }
  }

  void after() {
    RL_ASSERT(give_counts[1].load(rl::mo_relaxed, $) == 1);
    RL_ASSERT(give_counts[2].load(rl::mo_relaxed, $) == 1);
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    if (std::strcmp(arguments[1], "VISIT_STORES") == 0) {
      visits_store = true;
    } else if (std::strcmp(arguments[1], "ANY_STORES") == 0) {
      stores_from_any_thread = true;
    } else if (std::strcmp(arguments[1], "LATE_PUT") == 0) {
      putting = rl::mo_relaxed;
    } else if (std::strcmp(arguments[1], "BLIND_FREE") == 0) {
      frees_blindly = true;
    } else if (std::strcmp(arguments[1], "WEAK_FREE") == 0) {
      freeing = rl::mo_release;
    } else if (std::strcmp(arguments[1], "WEAK_VISIT") == 0) {
      looking = rl::mo_relaxed;
    } else {
      std::cerr << arguments[1] << ": no such mutant\n";
      return 2;
    }
  }
  rl::test_params search;
  search.search_type = rl::fair_context_bound_scheduler_type;
  search.context_bound = 4;
  search.iteration_count = 100'000'000;  // more than there are
  const bool is_correct = rl::simulate<cache>(search);
  std::cout << (is_correct ? "holds in all of " : "fails after ") << search.stop_iteration << " executions\n";
  return is_correct ? 0 : 1;
}
