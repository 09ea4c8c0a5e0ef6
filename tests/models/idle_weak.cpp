// The last look of a heap that goes idle, and of whoever tends it, against a block that arrives at that moment, under
// the memory model of C++: idle.pml again, with loads that may be old and stores that may be late. Relacy runs every
// interleaving of the two threads, with every value that a load may give.
//
// remote_frees.hpp and inbox.hpp are compiled as they are, over Relacy's atomics, so a weaker order there fails here;
// heap::receive (src/memory/heap/remote.cpp), heap::retire and heap::tend (src/memory/heap/without_owner.cpp) are
// copied below, since a whole heap is too much for an exhaustive search.
//
// usage: models_idle_weak [MUTANT]; exits 1 when a block is stranded or two threads race. The mutants stand in main.
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <relacy/relacy.hpp>

// Relacy's macros of these names add a place in the source to each use.
#undef memory_order_relaxed
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace {

// The memory orders of the code, each of which a mutant may weaken.
struct memory_orders {
  rl::memory_order post = rl::mo_seq_cst;   // inbox::post
  rl::memory_order empty = rl::mo_seq_cst;  // inbox::empty
  rl::memory_order idle = rl::mo_seq_cst;   // state = idle, in retire and tend
  rl::memory_order look = rl::mo_seq_cst;   // the sender's look at the state
  rl::memory_order set = rl::mo_acq_rel;    // remote_frees::free_remotely
  rl::memory_order clear = rl::mo_acq_rel;  // remote_frees::take_remote
} orders;

}  // namespace

// The std of those headers: Relacy's atomics under the names of the standard.
namespace modelled {

using std::countr_zero;
using std::popcount;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

inline constexpr rl::memory_order memory_order_relaxed = rl::mo_relaxed;
inline constexpr rl::memory_order memory_order_acquire = rl::mo_acquire;
inline constexpr rl::memory_order memory_order_release = rl::mo_release;
enum both_orders { memory_order_acq_rel };
enum sequential { memory_order_seq_cst };

template <class T>
class atomic {
 public:
  atomic(T value) : value_(value) {}

  T load(rl::memory_order order) const { return value_.load(order, $); }
  T load(sequential) const { return value_.load(orders.empty, $); }
  T exchange(T value, rl::memory_order order) { return value_.exchange(value, order, $); }
  T exchange(T value, both_orders) { return value_.exchange(value, orders.clear, $); }
  T fetch_or(T value, both_orders) { return value_.fetch_or(value, orders.set, $); }
  bool compare_exchange_weak(T& expected, T value, sequential, rl::memory_order failed) {
    return compare_exchange_weak(expected, value, orders.post, failed);
  }
  // Never fails for no reason: that only sends the caller's loop round once more.
  bool compare_exchange_weak(T& expected, T value, rl::memory_order order, rl::memory_order failed) {
    return value_.compare_exchange_strong(expected, value, order, $, failed, $);
  }

 private:
  rl::atomic<T> value_;
};

}  // namespace modelled

#define std modelled
#include "memory/heap/inbox.hpp"
#undef std

namespace {

using tarn::heaps::inbox;
using tarn::pages::remote_frees;

enum ownership : int { active, idle, tending };

// The second block meets the tender of the first. A second sender would multiply the executions to billions, and
// add nothing that idle.pml and remote_frees.pml have not.
constexpr unsigned sent_blocks = 2;

struct going_idle : rl::test_suite<going_idle, 2> {
  inbox posted;
  rl::atomic<int> state;
  rl::var<int> arrived;  // the inside of the heap: whoever acts for it writes it
  modelled::atomic<std::uint64_t> word{0};
  remote_frees slab;  // with one word
  rl::var<int> contents[sent_blocks];

  void before() {
    state.store(active, rl::mo_relaxed, $);
    arrived($) = 0;
    slab.remote_words = &word;
  }

  void collect() {
    // Only the slab is ever posted here.
    if (inbox::node* const sent = posted.take_all(); sent != nullptr) {
      static_cast<remote_frees*>(sent)->take_remote([this](std::size_t, std::uint64_t freed) {
        for (; freed != 0; freed &= freed - 1) arrived($) = arrived($) + contents[std::countr_zero(freed)]($);
      });
    }
  }

  void tend() {
    while (!posted.empty()) {
      int expected = idle;
      if (!state.compare_exchange_strong(expected, tending, rl::mo_seq_cst, $)) return;
      collect();
      state.store(idle, orders.idle, $);
    }
  }

  void retire() {
    collect();
    state.store(idle, orders.idle, $);
    tend();
  }

  void send(unsigned number) {
    contents[number]($) = 1;
    if (slab.free_remotely(0, std::uint64_t{1} << number).must_post) {
      posted.post(slab);
      if (state.load(orders.look, $) == idle) tend();
    }
  }

  void thread(unsigned number) {
    if (number == 0) {
      retire();
      return;
    }
    for (unsigned block = 0; block < sent_blocks; ++block) send(block);
  }

  void after() {
    RL_ASSERT(state.load(rl::mo_relaxed, $) == idle);
    RL_ASSERT(posted.empty());
    RL_ASSERT(arrived($) == static_cast<int>(sent_blocks));
  }
};

struct mutant {
  const char* name;
  rl::memory_order memory_orders::*member;
  rl::memory_order weaker;
};
constexpr mutant mutants[] = {
    {"WEAK_POST", &memory_orders::post, rl::mo_acq_rel},    {"WEAK_EMPTY", &memory_orders::empty, rl::mo_acquire},
    {"WEAK_IDLE", &memory_orders::idle, rl::mo_release},    {"WEAK_LOOK", &memory_orders::look, rl::mo_acquire},
    {"RELAXED_SET", &memory_orders::set, rl::mo_relaxed},   {"RELAXED_CLEAR", &memory_orders::clear, rl::mo_relaxed},
    {"RELAXED_POST", &memory_orders::post, rl::mo_relaxed},
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
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
  const bool is_correct = rl::simulate<going_idle>(search);
  std::cout << (is_correct ? "holds in all of " : "fails after ") << search.stop_iteration << " executions\n";
  return is_correct ? 0 : 1;
}
