// The growth of the page map, which free reads without a lock, under the memory model of C++. Two threads map memory in
// the same 4 GiB, one of which makes the leaf; a third frees a block of one of them, or asks for an
// address that nobody handed out. Relacy runs the interleavings of up to five switches, with every value that a load
// may give; without that bound there are too many.
//
// page_map::cover, page_map::set and detail::key_of (src/memory/pages/page_map.cpp, include/tarn/detail/fast_path.hpp)
// are copied below: the root's entry is an index here, and a leaf has two units.
//
// usage: models_page_map_growth [MUTANT]; exits 1 when a free misses its key. The mutants:
//   UNLOCKED    two threads make the leaf at once
//   UNORDERED   the program hands a block over without ordering the free after malloc
#include <cstring>

#include <relacy/relacy.hpp>

namespace {

bool is_locked = true;
rl::memory_order handing = rl::mo_release;

constexpr int no_leaf = 0;
constexpr int units = 2;  // of the first mapper, of the second

struct growth : rl::test_suite<growth, 3> {
  rl::mutex lock;
  rl::atomic<int> root;  ///< 0: none; else a leaf, counted from 1
  rl::atomic<int> keys[3][units];
  rl::atomic<bool> handed;
  rl::atomic<int> leaves;

  void before() {
    root.store(no_leaf, rl::mo_relaxed, $);
    leaves.store(0, rl::mo_relaxed, $);
    for (auto& leaf : keys) {
      for (auto& key : leaf) {
        key.store(0, rl::mo_relaxed, $);  // as the kernel gives it
      }
    }
    handed.store(false, rl::mo_relaxed, $);
  }

  void map(int self) {
    if (is_locked) lock.lock($);
    if (root.load(rl::mo_relaxed, $) == no_leaf) {
      const int new_leaf = leaves.fetch_add(1, rl::mo_relaxed, $) + 1;
      root.store(new_leaf, rl::mo_release, $);
    }
    if (is_locked) lock.unlock($);
    keys[root.load(rl::mo_relaxed, $)][self].store(self + 1, rl::mo_release, $);
    if (self == 0) {  // the two are alike
      handed.store(true, handing, $);
    }
  }

  int key_of(int unit) {
    const int leaf = root.load(rl::mo_relaxed, $);
    return leaf == no_leaf ? 0 : keys[leaf][unit].load(rl::mo_relaxed, $);
  }

  void thread(unsigned number) {
    if (number < 2) {
      map(static_cast<int>(number));
      return;
    }
    if (handed.load(rl::mo_acquire, $)) {
      RL_ASSERT(key_of(0) == 1);
    } else {
      RL_ASSERT(key_of(0) <= 1);  // an address that nobody handed out
    }
  }

  void after() {
    RL_ASSERT(key_of(0) == 1);
    RL_ASSERT(key_of(1) == 2);
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    if (std::strcmp(arguments[1], "UNLOCKED") == 0) {
      is_locked = false;
    } else if (std::strcmp(arguments[1], "UNORDERED") == 0) {
      handing = rl::mo_relaxed;
    } else {
      std::cerr << arguments[1] << ": no such mutant\n";
      return 2;
    }
  }
  rl::test_params search;
  search.search_type = rl::fair_context_bound_scheduler_type;
  search.context_bound = 5;
  search.iteration_count = 100'000'000;  // more than there are
  const bool is_correct = rl::simulate<growth>(search);
  std::cout << (is_correct ? "holds in all of " : "fails after ") << search.stop_iteration << " executions\n";
  return is_correct ? 0 : 1;
}
