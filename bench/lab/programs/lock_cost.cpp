// lab-lock-cost: one thread allocates, another frees, as in a note of Bulka, Mayhew and Michael on a lock-free
// pool (about 2008). Only the time inside the calls is counted, in batches of 32, which excludes the queue between the
// threads and the clock. Then it times Lock() and Unlock(), or the one compare-and-swap, while two threads call them.
// Unit: one Alloc() and its Free(). cores=1: both threads share one processor.
#include <pthread.h>
#include <mutex>

#include "bench/front_malloc.hpp"
#include "bench/front_peers.hpp"
#include "bench/front_pools.hpp"
#include "bench/rows/handoff.hpp"
#include "pinned.hpp"
#include "tagged_list.hpp"
#include "together.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::size_t block_bytes = 64, batch = 32;
constexpr std::uint32_t max_blocks = 4096;  // more than the queue and two batches hold

class spin_lock {
 public:
  spin_lock() { pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE); }
  void lock() { pthread_spin_lock(&lock_); }
  void unlock() { pthread_spin_unlock(&lock_); }

 private:
  pthread_spinlock_t lock_;
};

/// The pool of the source: a list through the free blocks, and a lock around it.
template <class Lock>
struct locked_pool {
  alignas(128) Lock lock;
  bench::list_pool<block_bytes> blocks;
  void* take() {
    const std::lock_guard hold(lock);
    return blocks.take();
  }
  void give(void* block) {
    const std::lock_guard hold(lock);
    blocks.give(block);
  }
};

/// Does the work of the locked pool without a lock. All its blocks are made in advance.
struct lock_free_pool {
  struct block {
    alignas(8) char bytes[block_bytes];
  };
  lab::free_list<true> free{max_blocks};
  std::unique_ptr<block[]> blocks = std::make_unique<block[]>(max_blocks + 1);
  void* take() {
    const std::uint32_t number = free.take();
    if (number == 0) std::abort();
    return &blocks[number];
  }
  void give(void* block_address) {
    free.give(static_cast<std::uint32_t>(static_cast<block*>(block_address) - blocks.get()));
  }
};

struct process_heap {
  void* take() { return std::malloc(block_bytes); }
  void give(void* block) { std::free(block); }
};

struct pair_of_times {
  double first = 0, second = 0;
};

/// Returns the cost of now_ns() itself, which is subtracted.
double clock_ns() {
  constexpr int times = 1000;
  std::int64_t sum = 0;
  for (int repetition = 0; repetition < times; ++repetition) {
    const std::int64_t start = bench::now_ns();
    sum += bench::now_ns() - start;
  }
  return static_cast<double>(sum) / times;
}

/// Thread 0 calls Alloc() and thread 1 calls Free(); returns the ns of all calls.
template <class Pool>
pair_of_times take_and_give(Pool& pool, std::uint64_t pairs, unsigned on_cores, outcome& result) {
  bench::ring handoff_ring;
  pair_of_times times;
  const double clock = clock_ns();
  const auto body = [&](unsigned thread, std::uint64_t batches) {
    lab::pin("lock-cost", thread, on_cores);
    std::uint64_t sum = 0;
    double& thread_ns = thread == 0 ? times.first : times.second;
    thread_ns = 0;
    void* blocks[batch];
    for (std::uint64_t repetition = 0; repetition < batches; ++repetition) {
      if (thread == 0) {
        const std::int64_t start = bench::now_ns();
        for (void*& block : blocks) {
          block = pool.take();
          lab::mark(block, repetition);
        }
        thread_ns += static_cast<double>(bench::now_ns() - start) - clock;
        for (void* const block : blocks) handoff_ring.push(block);
      } else {
        for (void*& block : blocks) {
          block = handoff_ring.pop();
          sum += lab::marked(block);
        }
        const std::int64_t start = bench::now_ns();
        for (void* block : blocks) {
          pool.give(block);
          lab::keep(block);
        }
        thread_ns += static_cast<double>(bench::now_ns() - start) - clock;
      }
    }
    if (thread == 0) handoff_ring.flush();
    return sum;
  };
  const std::uint64_t batches = pairs / batch + 1;
  lab::repeat_together(2, batches, result, body);
  result.units = batches * batch;
  result.ns = static_cast<std::int64_t>(times.first + times.second);
  times.first /= static_cast<double>(result.units);
  times.second /= static_cast<double>(result.units);
  return times;
}

/// Reads a clock in a few ns; its unit depends on the machine.
std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return static_cast<std::uint64_t>(bench::now_ns());
#endif
}

/// Returns the least cost of ticks() itself.
std::uint64_t tick_cost() noexcept {
  std::uint64_t minimum = ~std::uint64_t{0};
  for (int repetition = 0; repetition < 1000; ++repetition) {
    const std::uint64_t start = ticks();
    minimum = std::min(minimum, ticks() - start);
  }
  return minimum;
}

struct lock_times {
  double lock = 0, unlock = 0, processor = 0;  // ns for one call; processor: both calls, with the time spent spinning
};

/// Two threads lock and unlock; each call is timed.
template <class Lock, class Unlock>
lock_times lock_and_unlock(std::uint64_t pairs, unsigned on_cores, Lock lock, Unlock unlock) {
  std::atomic<std::uint64_t> locking{0}, unlocking{0};
  outcome sum;
  const std::uint64_t cost = tick_cost(), start_ticks = ticks();
  const std::int64_t start_ns = bench::now_ns();
  lab::repeat_together(2, pairs, sum, [&](unsigned thread, std::uint64_t repetitions) {
    lab::pin("lock-cost", thread, on_cores);
    std::uint64_t own_locking = 0, own_unlocking = 0;
    for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition) {
      const std::uint64_t start = ticks();
      lock();
      const std::uint64_t locked = ticks();
      unlock();
      const std::uint64_t end = ticks();
      own_locking += locked - start - std::min(cost, locked - start);
      own_unlocking += end - locked - std::min(cost, end - locked);
    }
    locking.fetch_add(own_locking);
    unlocking.fetch_add(own_unlocking);
    return std::uint64_t{0};
  });
  const double ns_a_tick = static_cast<double>(bench::now_ns() - start_ns) /
                           static_cast<double>(std::max<std::uint64_t>(1, ticks() - start_ticks));
  const auto calls = static_cast<double>(2 * (pairs + pairs / 16 + 1));
  return {static_cast<double>(locking.load()) * ns_a_tick / calls,
          static_cast<double>(unlocking.load()) * ns_a_tick / calls,
          static_cast<double>(sum.processor_ns) / static_cast<double>(2 * pairs)};
}

template <class Pool>
outcome run(const settings& parameters) {
  const auto on_cores = static_cast<unsigned>(parameters["cores"]);
  const std::uint64_t pairs = parameters["pairs"];
  outcome result;
  pair_of_times times;
  lock_times locks;
  bool has_lock = true;
  {
    Pool pool;
    times = take_and_give(pool, pairs, on_cores, result);
  }
  if constexpr (requires(Pool pool) { pool.lock; }) {
    Pool pool;
    locks = lock_and_unlock(
        20 * pairs, on_cores, [&] { pool.lock.lock(); }, [&] { pool.lock.unlock(); });
  } else if constexpr (requires(Pool pool) { pool.free.take(); }) {
    alignas(128) std::atomic<std::uint64_t> head{0};
    locks = lock_and_unlock(
        20 * pairs, on_cores,
        [&] {
          std::uint64_t value = head.load(std::memory_order_relaxed);
          head.compare_exchange_strong(value, value + 1, std::memory_order_acq_rel, std::memory_order_relaxed);
        },
        [] {});
    locks.unlock = 0;
  } else {
    has_lock = false;
  }
  if (has_lock)
    result.counts = {{"Lock ns", locks.lock}, {"Unlock ns", locks.unlock}, {"lock cpu ns", locks.processor}};
  result.counts.emplace_back("Alloc ns", times.first);
  result.counts.emplace_back("Free ns", times.second);
  return result;
}

using bench::free_pool;
using bench::wide_pool;

}  // namespace

int main(int count, char** arguments) {
  return lab::main_of(
      count, arguments, "lock-cost",
      {{.name = "cores", .usual = 2, .maximum = 2}, {.name = "pairs", .usual = 100'000, .maximum = 1'000'000'000}}, {
        {"malloc", run<process_heap>}, {"mutex", run<locked_pool<std::mutex>>}, {"spin", run<locked_pool<spin_lock>>},
            {"lock-free", run<lock_free_pool>},
#if BENCH_BOOST
            {"boost-free", run<bench::boosts_free_list<block_bytes>>},
#endif
#if BENCH_TBB
            {"tbb-fixed", run<bench::tbbs_fixed_pool<block_bytes>>},
#endif
            {"pmr-sync", run<bench::synchronized_pool<block_bytes>>},
            {"tarn-mutex", run<bench::mutex_pool<block_bytes>>},
            {"tarn-spin", run<bench::our_pool<tarn::pool<bench::pool_block<block_bytes>, tarn::spin_mutex>>>},
            {"tarn-lock-free", run<free_pool<block_bytes>>}, {
          "tarn-shared", run<wide_pool<block_bytes>>
        }
      });
}
