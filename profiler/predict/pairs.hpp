// Times pairs of an allocation and its free: the loops that `tarn measure` runs on each allocator under test.
//
// An allocator under test has get(), put(block), and lap(), which is called when no block is in use.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "profiler/predict/cost_model.hpp"

namespace tarn::command {

// Returns the thread's time, without other work on the machine.
inline double thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// It is cheaper to read than the thread's time, also just after a switch of threads.
inline double wall_ns() {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

[[gnu::always_inline]] inline void touch(void* block) {
  *static_cast<volatile char*>(block) = 1;
  asm volatile("" : : "r"(block) : "memory");
}

// Returns the least of some rounds. `run(n)` does n batches and returns their pairs.
template <class Run>
double min_ns(Run&& run) {
  constexpr double round_ns = 60'000;
  constexpr int rounds = 5;
  run(1);  // leaves out the cost of the first use
  std::size_t batches = 1;
  double best = 0;
  for (int round = 0; round < rounds;) {
    const double before = thread_ns();
    const std::size_t pairs = run(batches);
    const double elapsed = thread_ns() - before;
    if (elapsed < round_ns && batches < (std::size_t{1} << 20)) {
      batches *= elapsed * 8 < round_ns ? 8 : 2;
      continue;
    }
    const double pair_ns = elapsed / static_cast<double>(pairs);
    best = round == 0 ? pair_ns : std::min(best, pair_ns);
    ++round;
  }
  return best;
}

constexpr std::size_t burst_blocks = 64;

template <class Server>
double soon_ns(Server& server) {
  return min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      for (std::size_t index = 0; index < burst_blocks; ++index) {
        void* const block = server.get();
        touch(block);
        server.put(block);
      }
      server.lap();
    }
    return batches * burst_blocks;
  });
}

// Reads as much as the first-level cache holds, and ends only when everything before it has, so that the next step
// does not overlap.
[[gnu::noinline]] inline void displace() {
  constexpr std::size_t line = 64, bytes = 32 * 1024;
  static std::vector<char> data(bytes, 1);
  unsigned sum = 0;
  for (std::size_t index = 0; index < bytes; index += line) sum += static_cast<unsigned char>(data[index]);
  asm volatile("" : : "r"(sum) : "memory");
}
inline void wait_for_all_before() {
#if defined(__x86_64__)
  asm volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
  asm volatile("isb" : : : "memory");
#endif
}

// Times pairs between other work that they do not overlap with; the time of that work alone is taken off.
template <class Server>
double busy_ns(Server& server) {
  const double with_pairs = min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      for (std::size_t index = 0; index < burst_blocks; ++index) {
        displace();
        wait_for_all_before();
        void* const block = server.get();
        touch(block);
        server.put(block);
        wait_for_all_before();
      }
      server.lap();
    }
    return batches * burst_blocks;
  });
  const double without_pairs = min_ns([&](std::size_t batches) {
    for (std::size_t index = 0; index < batches * burst_blocks; ++index) {
      displace();
      wait_for_all_before();
      wait_for_all_before();
    }
    return batches * burst_blocks;
  });
  return std::max(with_pairs - without_pairs, 0.0);
}

// Holds the end of the C library's heap, which would otherwise return its memory with each batch. The heap of a real
// program has other blocks there.
template <class Server>
class pin {
 public:
  pin(Server& server, std::vector<void*>& blocks) : server_(server) {
    for (void*& block : blocks) block = server_.get();
    block_ = server_.get();
    for (void* const block : blocks) server_.put(block);
  }
  pin(const pin&) = delete;
  pin& operator=(const pin&) = delete;
  ~pin() {
    server_.put(block_);
    server_.lap();
  }

 private:
  Server& server_;
  void* block_;
};

template <class Server>
double batch_ns(Server& server, const std::vector<std::size_t>& order) {
  std::vector<void*> blocks(order.size());
  const pin hold(server, blocks);
  return min_ns([&](std::size_t batches) {
    for (std::size_t batch = 0; batch < batches; ++batch) {
      for (void*& block : blocks) touch(block = server.get());
      for (const std::size_t index : order) server.put(blocks[index]);
      server.lap();
    }
    return batches * blocks.size();
  });
}

// Times bursts of 1 to 127 blocks, freed forwards or backwards. A processor learns a pattern that never varies, and
// no real program has one.
template <class Server>
double burst_ns(Server& server, std::size_t max_blocks) {
  constexpr std::size_t bursts = 256;
  std::vector<std::size_t> lengths(bursts);
  std::minstd_rand random(1);
  for (std::size_t& length : lengths) length = 1 + random() / 8 % (2 * max_blocks - 1);
  std::vector<void*> blocks(2 * max_blocks);
  const pin hold(server, blocks);
  return min_ns([&](std::size_t batches) {
    std::size_t pairs = 0;
    for (std::size_t batch = 0; batch < batches * 8; ++batch) {
      const std::size_t length = lengths[batch % bursts];
      for (std::size_t index = 0; index < length; ++index) touch(blocks[index] = server.get());
      if (length % 2 == 0) {
        for (std::size_t index = 0; index < length; ++index) server.put(blocks[index]);
      } else {
        for (std::size_t index = length; index > 0; --index) server.put(blocks[index - 1]);
      }
      server.lap();
      pairs += length;
    }
    return pairs;
  });
}

// Returns the number of blocks of one batch, limited to a few megabytes.
constexpr std::size_t batch_blocks(std::size_t max_blocks, std::size_t bytes) {
  constexpr std::size_t megabytes = std::size_t{4} << 20;
  return std::clamp(megabytes / bytes, std::size_t{8}, max_blocks);
}
static_assert(batch_blocks(64, 48) == 64 && batch_blocks(4096, 48) == 4096 && batch_blocks(4096, 4096) == 1024 &&
              batch_blocks(4096, std::size_t{1} << 20) == 8);

inline std::vector<std::size_t> shuffle_order(std::size_t blocks) {
  std::vector<std::size_t> order(blocks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
  return order;
}

// Pins the calling thread to the first or the last processor that it may use, as long as this object lives.
class on_processor {
 public:
  explicit on_processor(bool is_last) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    int target = 0;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &before_)) {
        target = processor;
        if (!is_last) break;
      }
    }
    cpu_set_t chosen_set;
    CPU_ZERO(&chosen_set);
    CPU_SET(target, &chosen_set);
    ::sched_setaffinity(0, sizeof chosen_set, &chosen_set);
  }
  on_processor(const on_processor&) = delete;
  on_processor& operator=(const on_processor&) = delete;
  ~on_processor() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

// Makes two threads take turns. On one processor a waiting thread sleeps, so that the other can run. On two it
// spins, because a sleeping processor slows down.
class turns {
 public:
  explicit turns(bool is_spinning) : is_spinning_(is_spinning) {}
  void wait_for(int turn) {
    for (int tries = 0; now_.load() != turn; ++tries) {
      if (!is_spinning_) {
        const int current = now_.load();
        if (current != turn) now_.wait(current);
      } else if (tries > 2000) {
        ::sched_yield();  // the other thread may need this processor
      }
    }
  }
  void give(int next) {
    now_.store(next);
    if (!is_spinning_) now_.notify_all();
  }

 private:
  bool is_spinning_;
  std::atomic<int> now_ = 0;
};

// One thread allocates a batch and another frees it, in turns, on one processor or on two. Returns both threads' time
// in the median round. They do not run simultaneously: how often they meet at a lock depends on the program, not on
// the machine.
template <class Server>
double handed_ns(Server& server, std::size_t blocks, bool uses_two_processors) {
  constexpr int warm = 8, max_rounds = 24;
  constexpr double enough_ns = 2e6;  // fewer rounds must suffice on a busy machine
  std::vector<void*> blocks_made(blocks);
  std::vector<double> allocating, freeing;
  const pin hold(server, blocks_made);
  turns turn(uses_two_processors);
  bool is_over = false;
  std::thread freeing_thread([&] {
    const on_processor stay(uses_two_processors);
    for (int round = 0;; ++round) {
      turn.wait_for(2 * round + 1);
      if (is_over) return;
      const double before = wall_ns();
      for (void* const block : blocks_made) server.put(block);
      freeing.push_back(wall_ns() - before);
      turn.give(2 * round + 2);
    }
  });
  const on_processor stay(false);
  const double begun = wall_ns();
  int round = 0;
  for (; round < warm + max_rounds && (round < warm + 5 || wall_ns() - begun < enough_ns); ++round) {
    const double before = wall_ns();
    for (void*& block : blocks_made) touch(block = server.get());
    allocating.push_back(wall_ns() - before);
    turn.give(2 * round + 1);
    turn.wait_for(2 * round + 2);
  }
  is_over = true;
  turn.give(2 * round + 1);
  freeing_thread.join();
  const auto middle = [](std::vector<double>& times) {
    const auto middle_time = times.begin() + warm + (static_cast<std::ptrdiff_t>(times.size()) - warm) / 2;
    std::nth_element(times.begin() + warm, middle_time, times.end());
    return *middle_time;
  };
  return (middle(allocating) + middle(freeing)) / static_cast<double>(blocks);
}

// Returns soon_ns() while all holes of the heap that fit are in use, so that a block comes from its end.
template <class Server>
double soon_at_end_ns(Server& server, std::size_t blocks_to_hold) {
  std::vector<void*> blocks(blocks_to_hold);
  for (void*& block : blocks) block = server.get();
  const double ns = soon_ns(server);
  for (void* const block : blocks) server.put(block);
  server.lap();
  return ns;
}

// Returns soon_ns() while a block is cut from a hole of the heap that has room for many.
template <class Server>
double soon_in_hole_ns(Server& server, std::size_t blocks_in_hole) {
  std::vector<void*> blocks(blocks_in_hole);
  const pin hold(server, blocks);
  return soon_ns(server);
}

// The time that a pair takes longer between other work is the same for all sizes, and noisy for each: this is the
// median of all.
inline double median_addition(std::vector<double> additions) {
  const auto middle = additions.begin() + static_cast<std::ptrdiff_t>(additions.size() / 2);
  std::nth_element(additions.begin(), middle, additions.end());
  return std::max(*middle, 0.0);
}

// Measures all lifetime patterns of one allocator under test, for blocks of one size. Above the size that the C library
// keeps by thread, the price depends on the state of its heap: the cheapest is that of `soon`, and that of a hole is
// the one of `busy`, which lacks the addition for other work. Appends that to `additions`.
template <class Server>
void measure_pairs(analyse::cost_model& model, analyse::allocator_kind kind, std::size_t bucket, Server&& server,
                   bool has_other_threads, std::vector<double>& additions) {
  using analyse::lifetime_pattern;
  const std::size_t bytes = analyse::sample_bytes(bucket);
  const auto set = [&](lifetime_pattern lifetime, double ns) {
    model.pairs[static_cast<std::size_t>(kind)][static_cast<std::size_t>(lifetime)][bucket] = ns;
  };
  constexpr std::size_t max_blocks = 4096;
  const double at_end = soon_at_end_ns(server, batch_blocks(max_blocks, bytes));
  const double in_hole = soon_in_hole_ns(server, batch_blocks(burst_blocks, bytes));
  set(lifetime_pattern::soon, std::min(at_end, in_hole));
  set(lifetime_pattern::busy, in_hole);
  additions.push_back(busy_ns(server) - soon_ns(server));
  set(lifetime_pattern::burst, burst_ns(server, batch_blocks(burst_blocks, bytes)));
  set(lifetime_pattern::cold, batch_ns(server, shuffle_order(batch_blocks(max_blocks, bytes))));
  if (!has_other_threads) return;
  const std::size_t blocks = batch_blocks(128, bytes);
  for (int warm = 0; warm < 2; ++warm) handed_ns(server, blocks, false);  // until no memory is new
  set(lifetime_pattern::handed, handed_ns(server, blocks, false));
  set(lifetime_pattern::met, handed_ns(server, blocks, true));
}

}  // namespace tarn::command
