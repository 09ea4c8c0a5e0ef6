// lab-aba: breaks a lock-free list without a tag (tagged_list.hpp). First it plays the interleaving described there
// step by step. Then `threads` threads take two blocks and give them back, `operations` times in all, on one processor;
// every 64th take yields the processor between reading and swapping. Counted: blocks that two threads held at once.
// Unit: one operation.
#include "bench/front_peers.hpp"
#include "bench/front_pools.hpp"
#include "pinned.hpp"
#include "tagged_list.hpp"
#include "together.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::uint32_t block_count = 64;

/// Records for each block whether somebody holds it.
class owners {
 public:
  explicit owners(std::size_t blocks) : has_owner_(blocks) {}
  /// Returns false when somebody holds it already.
  bool take(std::size_t block) { return !has_owner_[block].exchange(true, std::memory_order_relaxed); }
  void give(std::size_t block) { has_owner_[block].store(false, std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<bool>> has_owner_;
};

/// Returns 1 when A is given a block that B holds.
template <class List>
double play_interleaving() {
  List list(3);
  const auto seen_by_a = list.begin_take();
  const std::uint32_t first = list.take(), second = list.take();
  list.give(first);
  if (!list.end_take(seen_by_a)) return 0;  // A's compare-and-swap noticed the change
  return list.take() == second ? 1 : 0;
}

template <class Pool>
outcome take_and_give_at_once(const settings& parameters, Pool& pool) {
  const std::uint64_t threads = parameters["threads"], operations_of_a_thread = parameters["operations"] / threads + 1;
  std::atomic<std::uint64_t> twice{0};
  outcome result{.units = operations_of_a_thread * threads};
  lab::repeat_together(static_cast<unsigned>(threads), operations_of_a_thread, result,
                       [&](unsigned thread, std::uint64_t operations) {
                         lab::pin("aba", 0, 1);
                         std::uint64_t takes = 0;
                         const auto meanwhile = [&] {
                           if (++takes % 64 == 0) sched_yield();
                         };
                         bench::random_numbers random(thread + 1);
                         typename Pool::name blocks[3] = {Pool::no_block(), Pool::no_block(), Pool::no_block()};
                         const auto give = [&](typename Pool::name& block) {
                           if (!Pool::is_none(block)) pool.give(block);
                           block = Pool::no_block();
                         };
                         for (std::uint64_t operation = 0; operation < operations; ++operation) {
                           typename Pool::name& slot = blocks[bench::draw_below(random.next(), 3)];
                           if (!Pool::is_none(slot)) {
                             give(slot);
                             continue;
                           }
                           const auto block = pool.take(meanwhile);
                           if (Pool::is_none(block)) continue;
                           if (pool.claim(block)) {
                             slot = block;
                           } else {
                             twice.fetch_add(1, std::memory_order_relaxed);
                           }
                         }
                         for (typename Pool::name& slot : blocks) give(slot);
                         return operations;
                       });
  result.counts = {{"given twice", static_cast<double>(twice.load())}};
  return result;
}

template <bool IsTagged>
struct list_pool {
  using name = std::uint32_t;
  lab::free_list<IsTagged> list{block_count};
  owners owners_{block_count + 1};
  static bool is_none(name block) { return block == 0; }
  static name no_block() { return 0; }
  template <class Meanwhile>
  name take(Meanwhile meanwhile) {
    return list.take(meanwhile);
  }
  bool claim(name block) { return owners_.take(block); }
  void give(name block) {
    owners_.give(block);
    list.give(block);
  }
};

/// A pool that is used only through its interface: the processor is yielded before the call. The block itself records
/// its owner.
template <class Inner>
struct block_pool {
  using name = void*;
  Inner inner;
  static bool is_none(name block) { return block == nullptr; }
  static name no_block() { return nullptr; }
  static std::atomic<std::uint64_t>& owner(name block) { return static_cast<std::atomic<std::uint64_t>*>(block)[1]; }
  static constexpr std::uint64_t somebody = 0x5ab7'1e55'0bad'b10c;
  template <class Meanwhile>
  name take(Meanwhile meanwhile) {
    meanwhile();
    return inner.take();
  }
  bool claim(name block) { return owner(block).exchange(somebody, std::memory_order_relaxed) != somebody; }
  void give(name block) {
    owner(block).store(0, std::memory_order_relaxed);
    inner.give(block);
  }
};

template <bool IsTagged>
outcome run_list(const settings& parameters) {
  list_pool<IsTagged> pool;
  outcome result = take_and_give_at_once(parameters, pool);
  result.counts.emplace_back("as told", play_interleaving<lab::free_list<IsTagged>>());
  return result;
}

template <class Inner>
outcome run_pool(const settings& parameters) {
  block_pool<Inner> pool;
  return take_and_give_at_once(parameters, pool);
}

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(count, arguments, "aba",
                      {{.name = "operations", .usual = 1'000'000}, {.name = "threads", .usual = 4, .maximum = 64}}, {
                        {"untagged", run_list<false>}, {"lock-free", run_list<true>},
#if BENCH_BOOST
                            {"boost-free", run_pool<bench::boosts_free_list<64>>},
#endif
                        {
                          "tarn-lock-free", run_pool<bench::free_pool<64>>
                        }
                      });
}
