// Memory goes back to the system while no thread calls.
#include "memory/thread/idle_purge.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <tarn/tarn.hpp>

#include "base/options.hpp"
#include "memory/api/blocks.hpp"
#include "memory/heap/array_pool.hpp"
#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/pages/segment.hpp"
#include "memory/thread/threads.hpp"
#include "platform/fake/platform.hpp"
#include "platform/mutex.hpp"
#include "platform/platform.hpp"
#include "platform/threads.hpp"
#include "support/child.hpp"
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else  // musl has a variable of its own: the tests that set this one are left out
static char __libc_single_threaded = 0;
#endif

namespace {

using namespace tarn;
using namespace tarn::base::units;
namespace fake = platform::fake;

void allocate_and_free(heap& owner, std::size_t count, std::size_t bytes) {
  std::vector<void*> blocks;
  for (std::size_t round = 0; round < count; ++round) blocks.push_back(owner.allocate(bytes));
  for (void* block : blocks) owner.deallocate(block);
}

/// Leaves arrays of magazines that nobody needs, for many pages.
void leave_arrays() {
  std::vector<heaps::magazine*> arrays;
  heaps::magazine_stock stock;
  for (std::size_t bytes = 0; bytes < 4_MiB; bytes += sizeof(heaps::magazine)) {
    arrays.push_back(stock.take_any());
    ASSERT_NE(arrays.back(), nullptr);
  }
  for (heaps::magazine* array : arrays) heaps::magazine_stock::discard(array);
  ASSERT_TRUE(heaps::arrays.may_purge_later());
}

class idle_purge : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(threads::initialise());
    current_heap().trim();
    while (fake::run_helper()) {
    }
    fake::reset();
    before_ = platform::purge_totals().bytes;
  }
  std::uint64_t purged() const { return platform::purge_totals().bytes - before_; }

  std::uint64_t before_ = 0;
};

TEST_F(idle_purge, gives_back_what_the_program_left) {
  allocate_and_free(current_heap(), 3, 5_MiB);
  EXPECT_EQ(purged(), 0u);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GE(purged(), 15_MiB);
  EXPECT_FALSE(fake::run_helper()) << "one is enough, and it has ended";
}

TEST_F(idle_purge, takes_less_than_a_second) {
  allocate_and_free(current_heap(), 3, 5_MiB);
  const std::uint64_t start = platform::now_ms();
  EXPECT_TRUE(fake::run_helper());
  EXPECT_LE(platform::now_ms() - start, 1000u);
}

TEST_F(idle_purge, reaches_the_spaces_of_heap_objects) {
  heap lane;
  heap keeping({.keeps_memory = true});
  allocate_and_free(keeping, 3, 3_MiB);
  EXPECT_FALSE(fake::run_helper());
  allocate_and_free(lane, 3, 3_MiB);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GE(purged(), 9_MiB);
  EXPECT_LT(purged(), 18_MiB);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(idle_purge, needs_no_helper_for_little) {
  allocate_and_free(current_heap(), 10, 300'000);
  EXPECT_FALSE(fake::run_helper());
}

TEST_F(idle_purge, starts_again_after_each_burst) {
  for (int round = 0; round < 5; ++round) {
    allocate_and_free(current_heap(), 3, 5_MiB);
    EXPECT_TRUE(fake::run_helper()) << round;
    EXPECT_FALSE(fake::run_helper());
  }
  EXPECT_GE(purged(), 75_MiB);
}

// An owner that has taken batches in accepts more of them; then it sleeps.
TEST_F(idle_purge, gives_back_what_waits_in_batches_for_an_owner_that_sleeps) {
  for (const std::size_t bytes : {64, 1024, 4096}) {
    constexpr std::size_t freed_early = 2'000;
    std::vector<void*> blocks(32_MiB / bytes);
    std::latch allocated(1);
    std::latch freed(1);
    std::latch slept(1);
    std::latch finished(1);
    std::thread owner([&] {
      for (void*& block : blocks) block = current_heap().allocate(bytes);
      allocated.count_down();
      freed.wait();
      for (std::size_t number = 0; number < freed_early; ++number) blocks[number] = current_heap().allocate(bytes);
      slept.count_down();
      finished.wait();
    });
    allocated.wait();
    for (std::size_t number = 0; number < freed_early; ++number) current_heap().deallocate(blocks[number]);
    freed.count_down();
    slept.wait();
    while (fake::run_helper()) {
    }
    const std::uint64_t before = purged();
    for (void* block : blocks) current_heap().deallocate(block);
    EXPECT_TRUE(fake::run_helper()) << bytes;
    EXPECT_GE(purged() - before, 30_MiB) << bytes;
    finished.count_down();
    owner.join();
  }
}

/// Blocks of 1 KiB, in slabs of a heap whose thread has ended.
std::vector<void*> blocks_of_ended_thread(std::size_t total, bool frees_most) {
  std::vector<void*> blocks(total / 1_KiB);
  std::thread([&] {
    for (void*& block : blocks) {
      block = current_heap().allocate(1_KiB);
    }
    for (std::size_t number = 0; frees_most && number < blocks.size(); ++number) {
      if (number % 64 != 0) {
        current_heap().deallocate(std::exchange(blocks[number], nullptr));
      }
    }
  }).join();
  return blocks;
}

TEST_F(idle_purge, gives_back_what_ended_threads_left_between_blocks_in_use) {
  const std::vector<void*> blocks = blocks_of_ended_thread(16_MiB, true);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GE(purged(), 13_MiB);
  EXPECT_FALSE(fake::run_helper());
  for (void* block : blocks) {
    current_heap().deallocate(block);
  }
}

TEST_F(idle_purge, malloc_trim_gives_it_back_at_once) {
  const std::vector<void*> blocks = blocks_of_ended_thread(16_MiB, true);
  EXPECT_TRUE(api::trim());
  EXPECT_GE(purged(), 13_MiB);
  for (void* block : blocks) {
    current_heap().deallocate(block);
  }
}

TEST_F(idle_purge, gives_back_what_others_freed_for_ended_threads) {
  std::vector<void*> blocks = blocks_of_ended_thread(16_MiB, false);
  while (fake::run_helper()) {
  }
  const std::uint64_t before = purged();
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    if (number % 64 != 0) {
      current_heap().deallocate(std::exchange(blocks[number], nullptr));
    }
  }
  current_heap().trim();  // sends the last batch
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GE(purged() - before, 13_MiB);
  for (void* block : blocks) {
    current_heap().deallocate(block);
  }
}

/// Starts threads between the visits: each adopts the heap of the last one.
struct adoptions {
  static constexpr int max_sleeps = 20;
  static inline int sleeps = 0;
  static inline std::uint64_t purged_bytes = 0;
  static void adopt() {
    if (++sleeps <= max_sleeps) {
      std::thread([] { current_heap().deallocate(current_heap().allocate(1_KiB)); }).join();
      purged_bytes = platform::purge_totals().bytes;
    }
  }
};

TEST_F(idle_purge, leaves_a_heap_alone_that_one_thread_after_the_other_adopts) {
  const std::vector<void*> blocks = blocks_of_ended_thread(16_MiB, true);
  adoptions::sleeps = 0;
  fake::call_at_sleep(adoptions::adopt);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GT(adoptions::sleeps, adoptions::max_sleeps);
  EXPECT_LT(adoptions::purged_bytes - before_, 1_MiB);
  EXPECT_GE(purged(), 13_MiB) << "after the last of them";
  for (void* block : blocks) {
    current_heap().deallocate(block);
  }
}

/// The main thread's heap makes slow calls between the first visits.
struct work {
  static constexpr int max_sleeps = 40;
  static inline heaps::heap* owner = nullptr;
  static inline int sleeps = 0;
  static inline bool are_arrays_gone = false;
  static void go_on() {
    if (++sleeps <= max_sleeps) {
      are_arrays_gone = !heaps::arrays.may_purge_later();
      owner->slow_calls.add(1);
    }
  }
};

// Its heap has free memory all the time, but the arrays of magazines that nobody needs go back.
TEST_F(idle_purge, gives_arrays_back_beside_an_owner_that_works) {
  std::vector<void*> live_blocks;  // one block of each slab
  for (int number = 0; number < 128 * 64; ++number) live_blocks.push_back(current_heap().allocate(1024));
  for (std::size_t number = 0; number < live_blocks.size(); ++number) {
    if (number % 32 != 0) current_heap().deallocate(std::exchange(live_blocks[number], nullptr));
  }
  leave_arrays();
  work::owner = threads::own_heap();
  work::sleeps = 0;
  fake::call_at_sleep(work::go_on);
  allocate_and_free(current_heap(), 3, 5_MiB);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GT(work::sleeps, work::max_sleeps) << "the helper stays while the owner works";
  EXPECT_TRUE(work::are_arrays_gone);
  for (void* block : live_blocks) current_heap().deallocate(block);
}

TEST_F(idle_purge, ends_where_memory_cannot_be_given_back) {
  fake::refuse_purges(true);
  allocate_and_free(current_heap(), 3, 5_MiB);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_FALSE(fake::run_helper());
  allocate_and_free(current_heap(), 3, 5_MiB);
  EXPECT_FALSE(fake::run_helper());
  fake::refuse_purges(false);
  EXPECT_GE(current_heap().trim(), 15_MiB) << "who asks gets another attempt";
}

TEST_F(idle_purge, works_in_a_child_that_was_forked_while_a_helper_was_wanted) {
  allocate_and_free(current_heap(), 3, 5_MiB);
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = !fake::run_helper();  // it is the parent's
    allocate_and_free(current_heap(), 3, 5_MiB);
    is_right = fake::run_helper() && purged() >= 15_MiB && is_right;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fake::run_helper());
}

/// Forks where the helper gives memory back: it holds the lock of the list of spaces there, and a space is in the
/// middle of a purge. The child ends with 0 if a thread of it can use both.
struct fork_in_a_purge {
  static inline int child_status = -1;
  static void call() {
    fake::call_at_purge(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      bool is_right = false;
      std::thread([&is_right] {  // the locks of this thread are the helper's
        const std::uint64_t before = platform::purge_totals().bytes;
        heap lane;
        lane.deallocate(lane.allocate(5_MiB));
        std::vector<void*> blocks;
        for (int number = 0; number < 3; ++number) blocks.push_back(current_heap().allocate(5_MiB));
        for (void* block : blocks) current_heap().deallocate(block);
        is_right = fake::run_helper() && platform::purge_totals().bytes - before >= 15_MiB && lane.is_valid();
      })
          .join();
      _exit(is_right ? 0 : 1);
    }
    waitpid(child, &child_status, 0);
  }
};

TEST_F(idle_purge, a_child_goes_on_where_a_program_of_one_thread_forked_during_a_visit) {
  ASSERT_TRUE(platform::is_only_thread()) << "each test is a process of its own";
  fake::call_at_purge(fork_in_a_purge::call);
  allocate_and_free(current_heap(), 3, 5_MiB);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_EQ(fork_in_a_purge::child_status, 0);
  EXPECT_TRUE(current_heap().is_valid());
}

/// Looks into a lock.
struct opened_mutex : platform::mutex {
  static std::atomic<std::uint32_t>& word_of(platform::mutex& lock) { return lock.*&opened_mutex::state_; }
  /// Returns true if a thread waits for the lock, after its spins.
  static bool is_awaited(platform::mutex& lock) { return word_of(lock).load(std::memory_order_relaxed) == contended; }
  /// Does what an unlock does before it wakes a thread.
  static void begin_unlock(platform::mutex& lock, platform::lock_rank rank) {
    platform::held_locks::note_released(rank);
    word_of(lock).store(open, std::memory_order_release);
  }
};
bool is_awaited(platform::mutex& lock) { return opened_mutex::is_awaited(lock); }

/// Runs the helper in a thread of its own until it waits for a lock that the calling thread holds. The process then has
/// one thread for fork(), because the C library does not count a helper.
class waiting_helper {
 public:
  explicit waiting_helper(platform::mutex& lock) : thread_([] { EXPECT_TRUE(fake::run_helper()); }) {
    while (!is_awaited(lock)) sched_yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // soon it waits in the kernel
    __libc_single_threaded = 1;
  }
  ~waiting_helper() {
    __libc_single_threaded = 0;
    thread_.join();
  }

 private:
  std::thread thread_;
};

// A signal handler forks where it interrupted malloc, under a lock for which the helper waits: it cannot leave the
// spaces before the handler returns.
void fork_in_a_handler_under(platform::mutex& lock, heap& lane) {
  ASSERT_TRUE(platform::is_only_thread()) << "each test is a process of its own";
  alarm(60);
  lock.lock();
  const waiting_helper helper(lock);
  const std::uint64_t before = platform::now_ms();
  EXPECT_EQ(support::in_child([&] {
              alarm(60);
              lock.unlock();
              allocate_and_free(lane, 3, 5_MiB);
              allocate_and_free(current_heap(), 3, 5_MiB);
              heap child_lane;
              allocate_and_free(child_lane, 3, 5_MiB);
              return heaps::central().is_valid() && lane.is_valid() ? 0 : 1;
            }),
            support::ending{});
  EXPECT_LT(platform::now_ms() - before, 100U) << "the fork waited";
  lock.unlock();
}

TEST_F(idle_purge, a_fork_in_a_handler_does_not_wait_for_a_helper_that_waits_for_a_space) {
  heap lane;
  allocate_and_free(current_heap(), 3, 5_MiB);
  fork_in_a_handler_under(heaps::central().lock(), lane);
  EXPECT_TRUE(heaps::central().is_valid());
}

// Otherwise nobody wakes it here, and the test does not end.
TEST_F(idle_purge, a_fork_in_a_handler_wakes_a_helper_that_the_interrupted_unlock_has_not_woken) {
  ASSERT_TRUE(platform::is_only_thread()) << "each test is a process of its own";
  alarm(20);
  allocate_and_free(current_heap(), 3, 5_MiB);
  heaps::central().lock().lock();
  const waiting_helper helper(heaps::central().lock());
  opened_mutex::begin_unlock(heaps::central().lock(), platform::lock_rank::space);
  EXPECT_EQ(support::in_child([] {
              allocate_and_free(current_heap(), 3, 5_MiB);
              return heaps::central().is_valid() ? 0 : 1;
            }),
            support::ending{});
}

// It gives the record of a segment back under the lock of a space; the handler interrupted a call on another space.
TEST_F(idle_purge, a_fork_in_a_handler_does_not_wait_for_a_helper_that_waits_for_records_of_segments) {
  heap lane;
  allocate_and_free(lane, 3, 5_MiB);
  fork_in_a_handler_under(pages::segment_records::lock(), lane);
  EXPECT_TRUE(lane.is_valid());
}

// It needs a record of the pages that it has given back, under the lock of the arrays.
TEST_F(idle_purge, a_fork_in_a_handler_does_not_wait_for_a_helper_that_waits_for_metadata) {
  heap lane;
  leave_arrays();
  allocate_and_free(current_heap(), 3, 5_MiB);
  fork_in_a_handler_under(pages::metadata::lock(), lane);
  EXPECT_TRUE(heaps::central().is_valid());
}

// It empties the front magazines of a heap that counts its calls: blocks that are in their slab again must no longer
// be in the magazine when it waits for the lock of the space.
TEST_F(idle_purge, a_child_gets_no_block_twice_where_the_helper_was_emptying_a_magazine) {
  ASSERT_TRUE(platform::is_only_thread()) << "each test is a process of its own";
  alarm(60);
  threads::own_heap()->add_trait(heaps::heap_trait::counting);
  constexpr std::size_t block_bytes = 1_KiB;
  constexpr std::size_t slab_blocks = 64;
  allocate_and_free(current_heap(), 3, 5_MiB);
  std::vector<void*> blocks(3 * slab_blocks);
  for (void*& block : blocks) block = current_heap().allocate(block_bytes);
  std::sort(blocks.begin(), blocks.end());
  void** const first_slab = blocks.data();
  void** const second_slab = first_slab + slab_blocks;
  // The magazine ends with the last blocks of the second slab, below them blocks of the first one, which stays in use.
  for (std::size_t number = 0; number < slab_blocks - 4; ++number) current_heap().deallocate(second_slab[number]);
  for (std::size_t number = 0; number < 4; ++number) current_heap().deallocate(first_slab[number]);
  for (std::size_t number = slab_blocks - 4; number < slab_blocks; ++number)
    current_heap().deallocate(second_slab[number]);
  platform::mutex& lock = heaps::central().lock();
  lock.lock();
  const waiting_helper helper(lock);
  EXPECT_EQ(support::in_child([&] {
              alarm(60);
              lock.unlock();
              std::set<void*> live_blocks(first_slab + 4, first_slab + slab_blocks);
              for (std::size_t count = 0; count < 2 * slab_blocks; ++count) {
                if (!live_blocks.insert(current_heap().allocate(block_bytes)).second) return 1;
              }
              return 0;
            }),
            support::ending{});
  lock.unlock();
}

/// Has the main thread take the lock of the shared space while the helper gives memory back without it.
struct meeting {
  static inline std::latch* is_purging = nullptr;
  static inline std::latch* is_locked = nullptr;
  static void call() {
    fake::call_at_purge(nullptr);
    is_purging->count_down();
    is_locked->wait();
  }
};

// A fork handler of the program may allocate after the engine has dealt with the helper. The helper holds the lock of
// the list of spaces here, and waits for a lock that the program has released by the time of the fork.
TEST_F(idle_purge, a_fork_handler_may_allocate_while_the_helper_wakes) {
  ASSERT_TRUE(platform::is_only_thread()) << "each test is a process of its own";
  alarm(20);
  std::latch is_purging(1);
  std::latch is_locked(1);
  meeting::is_purging = &is_purging;
  meeting::is_locked = &is_locked;
  fake::call_at_purge(meeting::call);
  allocate_and_free(current_heap(), 3, 5_MiB);
  std::thread helper([] { EXPECT_TRUE(fake::run_helper()); });
  is_purging.wait();
  heaps::central().lock().lock();
  is_locked.count_down();
  while (!is_awaited(heaps::central().lock())) sched_yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // soon it waits in the kernel
  __libc_single_threaded = 1;
  heaps::central().lock().unlock();
  EXPECT_EQ(threads::fork_beside_helper([] {
              const heap lane;
              return pid_t{1};
            }),
            1);
  __libc_single_threaded = 0;
  helper.join();
  EXPECT_TRUE(heaps::central().is_valid());
}

}  // namespace
