// Many threads use all paths at once: remote frees in all directions, threads that start and end, owners that sleep
// while their blocks come back, heap objects that are released, blocks that are resized in another thread, forks.
// Every block records its expected contents. The sanitizers look for races.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <tarn/tarn.h>
#include <tarn/tarn.hpp>

#include "base/options.hpp"
#include "memory/api/blocks.hpp"
#include "memory/api/statistics.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/threads.hpp"

#if defined(__SANITIZE_THREAD__)
#define STRESS_FORKS 0  // ThreadSanitizer allows no threads in the child of a process with threads
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRESS_FORKS 0
#endif
#endif
#ifndef STRESS_FORKS
#define STRESS_FORKS 1
#endif

namespace {

using namespace tarn;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t workers = 4;
constexpr std::size_t shared_slots = 512;
constexpr std::size_t sleepers_blocks = 3000;

/// How many of 64 blocks are large, and how many may have several units in a slab. The mixtures take turns, because
/// each part of the heaps is at work only where its sizes are frequent.
struct mixture {
  std::uint32_t large, wide;
};
constexpr mixture mixtures[] = {{1, 3}, {1, 40}, {4, 3}};
std::atomic<std::size_t> mixture_number{0};

/// Stands at the start of each block. The rest is filled from `seed`.
struct header {
  std::size_t bytes;
  std::uint32_t seed;
  std::int32_t lane;  ///< the worker whose heap object it came from; -1: none
};

/// A heap object, and a count of its blocks that other threads may hold.
struct lane {
  tarn::heap heap;
  std::atomic<int> abroad{0};
};

std::atomic<bool> is_over{false};
std::atomic<header*> slots[shared_slots];
std::unique_ptr<lane> lanes[workers];
std::atomic<std::uint64_t> operations{0}, releases{0}, reclaimed{0}, forks{0};

// Fails without stdio, which works in the child of a fork, too.
void require(bool is_so, const char* text) {
  if (!is_so) {
    (void)!write(STDERR_FILENO, text, std::strlen(text));
    std::abort();
  }
}

// Visits all of a small block; of a larger one the ends and a byte of each page.
template <class Each>
void for_contents(header* block, Each visit) {
  auto* const start = reinterpret_cast<unsigned char*>(block);
  const std::size_t dense = block->bytes < 1024 ? block->bytes : 256;
  for (std::size_t offset = sizeof(header); offset < dense; ++offset) {
    visit(start[offset], static_cast<unsigned char>(block->seed + offset));
  }
  for (std::size_t offset = 4096; offset < block->bytes; offset += 4096) {
    visit(start[offset], static_cast<unsigned char>(block->seed + offset));
  }
  visit(start[block->bytes - 1], static_cast<unsigned char>(block->seed + block->bytes - 1));
}

header* filled(void* block, std::size_t bytes, std::uint32_t seed, std::int32_t lane) {
  require(block != nullptr && tarn_usable_size(block) >= bytes, "a block is missing or short\n");
  auto* const block_header = ::new (block) header{bytes, seed, lane};
  for_contents(block_header, [](unsigned char& byte, unsigned char value) { byte = value; });
  return block_header;
}

void check(header* block) {
  for_contents(block, [](unsigned char& byte, unsigned char value) {
    require(byte == value, "a block does not hold what was written\n");
  });
}

class actor {
 public:
  /// `lane`: -1 for a thread without a heap object.
  actor(std::uint32_t seed, std::int32_t lane) : random_(seed), lane_(lane) {}

  /// `abroad`: blocks of the lane are given to other threads, too.
  void work(int steps, bool gives_lane_blocks = false) {
    for (int step = 0; step < steps; ++step) {
      header* const offered = gives_lane_blocks && random_() % 4 == 0 ? from_lane() : make();
      header* const previous = slots[random_() % shared_slots].exchange(offered, std::memory_order_acq_rel);
      if (previous != nullptr) take(previous);
      if (random_() % 1024 == 0) api::trim();
    }
    operations.fetch_add(static_cast<std::uint64_t>(steps), std::memory_order_relaxed);
  }

  header* make() {
    const std::size_t bytes = size();
    void* block = nullptr;
    switch (random_() % 8) {
      case 0: {
        block = tarn_calloc(1, bytes);
        auto* const start = static_cast<const char*>(block);
        require(start[0] == 0 && start[bytes / 2] == 0 && start[bytes - 1] == 0, "calloc is not zero\n");
        break;
      }
      case 1: block = tarn_aligned_alloc(std::size_t{16} << random_() % 9, bytes); break;
      case 2: block = process_heap().allocate(bytes); break;
      default: block = tarn_malloc(bytes);
    }
    return filled(block, bytes, random(), -1);
  }

  // Other threads may get these blocks, so they are counted until they are freed.
  header* from_lane() {
    lane& own_lane = *lanes[lane_];
    const std::size_t bytes = size();
    own_lane.abroad.fetch_add(1, std::memory_order_relaxed);
    return filled(own_lane.heap.allocate(bytes), bytes, random(), lane_);
  }

  // Some blocks are never handed out and go with the release.
  void use_lane() {
    lane& own_lane = *lanes[lane_];
    for (int count = 0; count < 50; ++count) {
      const std::size_t bytes = size();
      check(filled(own_lane.heap.allocate(bytes), bytes, random(), lane_));
    }
    // acquire: the frees of all blocks abroad happen before the release.
    if (own_lane.abroad.load(std::memory_order_acquire) == 0) {
      own_lane.heap.release();
      releases.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void take(header* block) {
    check(block);
    if (block->lane < 0 && random_() % 8 == 0) {
      const std::size_t before = block->bytes;
      const std::uint32_t seed = block->seed;
      const std::size_t bytes = size();
      auto* const moved = static_cast<header*>(tarn_realloc(block, bytes));
      require(moved != nullptr, "realloc failed\n");
      moved->bytes = bytes < before ? bytes : before;
      if (moved->bytes == before) check(moved);
      block = filled(moved, bytes, seed + 1, -1);
      check(block);
    }
    const std::int32_t its_lane = block->lane;
    tarn_free(block);
    if (its_lane >= 0) {
      // release: the thread that reads 0 may release the heap.
      lanes[its_lane]->abroad.fetch_sub(1, std::memory_order_release);
    }
  }

  std::size_t size() {
    const std::uint32_t drawn = random();
    const mixture& now = mixtures[mixture_number.load(std::memory_order_relaxed)];
    const std::uint32_t kind = drawn % 64;
    if (kind < now.large) return 32 + drawn / 64 % (700 << 10);
    return 32 + drawn / 64 % (kind < now.large + now.wide ? 40 << 10 : 600);
  }
  std::uint32_t random() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::minstd_rand random_;
  std::int32_t lane_;
};

void empty_slots(actor& taker) {
  for (auto& slot : slots) {
    if (header* const block = slot.exchange(nullptr, std::memory_order_acq_rel)) taker.take(block);
  }
}

void worker(std::size_t number) {
  actor self(static_cast<std::uint32_t>(number) + 1, static_cast<std::int32_t>(number));
  for (int round = 0; !is_over.load(std::memory_order_relaxed); ++round) {
    self.work(200, round % 8 == 0);  // gives the others time to free the blocks abroad
    self.use_lane();
  }
}

// Threads start, take and leave blocks, and end: their heaps are adopted.
void visitors() {
  for (std::uint32_t seed = 100; !is_over.load(std::memory_order_relaxed); ++seed) {
    std::thread([=] { actor(seed, -1).work(200); }).join();
  }
}

// Its blocks come back while it sleeps: other threads reclaim its slabs meanwhile.
void sleep_sometimes() {
  actor self(99, -1);
  std::vector<header*> blocks(sleepers_blocks);
  for (int round = 0; round < 4; ++round) {
    for (header*& block : blocks) {
      const std::size_t bytes = 32 + self.random() % 400;
      block = filled(tarn_malloc(bytes), bytes, self.random(), -1);
    }
    std::thread([&, owner = threads::own_heap()] {
      actor foreign(98, -1);
      std::uint64_t max_slabs = 0;
      for (header* block : blocks) {
        check(block);
        tarn_free(block);
        // The count is there until somebody takes the inbox in, which the helper may do at any moment.
        // With the option thread_heaps the heap may be a shared one.
        if (owner != nullptr) max_slabs = std::max<std::uint64_t>(max_slabs, owner->reclaimed.slabs);
      }
      reclaimed.fetch_add(max_slabs, std::memory_order_relaxed);
      api::trim();
    }).join();
    std::this_thread::sleep_for(milliseconds(3));
  }
}

void sleeper() {
  while (!is_over.load(std::memory_order_relaxed)) std::thread(sleep_sometimes).join();
}

// The child has one thread, and every heap but its own stays as it was.
void forker() {
  actor self(77, -1);
  while (STRESS_FORKS && !is_over.load(std::memory_order_relaxed)) {
    const pid_t child = fork();
    require(child >= 0, "fork failed\n");
    if (child == 0) {
      alarm(60);
      self.work(300);
      _exit(0);
    }
    int status = -1;
    require(waitpid(child, &status, 0) == child && status == 0, "the child of a fork went wrong\n");
    forks.fetch_add(1, std::memory_order_relaxed);
    self.work(100);
    std::this_thread::sleep_for(milliseconds(10));
  }
}

// Reads the statistics while all others change them, for ThreadSanitizer.
void reader() {
  while (!is_over.load(std::memory_order_relaxed)) {
    require(api::process_now().heaps != 0, "there are no heaps\n");
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// Says that each of the tested events has happened, for which a busy machine needs longer than a run's time. Without
// small constants, more than these blocks would have to wait before a sender reclaims a slab.
bool has_seen_all_events(std::uint64_t adopted_before) {
  const bool shares_heaps = base::current_options().thread_heaps != 0;  // then few heaps or none lose their threads
  return (shares_heaps || heaps::registry::count().adopted > adopted_before) &&
         (shares_heaps || reclaimed > 0 || !TARN_SMALL) && api::process_now().sums.remote_frees > 0 && releases > 0 &&
         (forks > 0 || STRESS_FORKS == 0);
}

TEST(stress, nothing_breaks_when_all_happens_at_once) {
  const char* const seconds = std::getenv("STRESS_SECONDS");
  const auto end = steady_clock::now() + milliseconds(seconds != nullptr ? 1000 * std::atoi(seconds) : 2000);
  base::current_options().purge_delay_ms = 2;  // set while there is one thread
  for (auto& initial_lane : lanes) initial_lane = std::make_unique<lane>();
  const auto before = heaps::registry::count();
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < workers; ++number) threads.emplace_back(worker, number);
  threads.emplace_back(visitors);
  threads.emplace_back(sleeper);
  threads.emplace_back(forker);
  threads.emplace_back(reader);
  for (std::size_t turn = 0; steady_clock::now() < end || !has_seen_all_events(before.adopted); ++turn) {
    std::this_thread::sleep_for(milliseconds(20));
    mixture_number = turn / 16 % std::size(mixtures);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();

  actor last(7, -1);
  empty_slots(last);
  for (const auto& entry : lanes) {
    EXPECT_EQ(entry->abroad, 0);
    EXPECT_TRUE(entry->heap.is_valid());
  }
  api::trim();
  heaps::registry::for_all([](heaps::heap& heap) {
    if (!heap.policy.is_shared()) {
      EXPECT_TRUE(heap.is_valid()) << heap.number;
    }
  });
  EXPECT_TRUE(heaps::central().is_valid());

  EXPECT_EQ(forks > 0, STRESS_FORKS == 1);
  std::printf("%llu operations, %llu releases, %llu slabs reclaimed, %llu forks, %llu heaps adopted\n",
              static_cast<unsigned long long>(operations), static_cast<unsigned long long>(releases),
              static_cast<unsigned long long>(reclaimed), static_cast<unsigned long long>(forks),
              static_cast<unsigned long long>(heaps::registry::count().adopted - before.adopted));
  for (auto& initial_lane : lanes) initial_lane = nullptr;
}

}  // namespace
