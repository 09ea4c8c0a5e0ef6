// The child of a fork has one thread and a copy of all heaps.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "memory/api/blocks.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/threads.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"
#include "support/call_filter.h"
#include "support/child.hpp"
#include "support/current_heap.hpp"
#include "support/worker.hpp"
#include "tarn/heap.hpp"

namespace {

using namespace tarn;
using heaps::ownership;
using support::ending;
using support::give;
using support::in_child;
using support::take;
using support::worker;

// These handlers are registered before the engine's: they run while it holds its locks.
void use_everything_once();
bool handlers_are_on = false;
void handler() {
  if (handlers_are_on) use_everything_once();
}
[[gnu::constructor(101)]] void install_first() {
  static_cast<void>(platform::fake::outstanding_bytes());  // its handlers represent the kernel and come first
  pthread_atfork(handler, handler, handler);
}

void use_everything_once() {
  for (std::size_t bytes = 16; bytes < 3'000'000; bytes = bytes * 5 / 4) give(take(bytes));
  process_heap().deallocate(process_heap().allocate(100));
  tarn::heap object;
  EXPECT_NE(object.allocate(100), nullptr);
  api::trim();
}

TEST(fork, the_child_goes_on_with_its_heap) {
  void* const block = take(64);
  EXPECT_EQ(in_child([=] {
              auto* const own_heap = static_cast<heaps::heap*>(detail::local_heap);
              give(block);
              for (std::size_t bytes = 16; bytes < 3'000'000; bytes *= 2) give(take(bytes));
              const bool is_own_heap =
                  own_heap->owner_thread.load() == platform::thread_number() && own_heap == threads::own_heap();
              return is_own_heap && own_heap->is_valid() && heaps::central().is_valid() ? 0 : 1;
            }),
            ending{});
  give(block);
}

TEST(fork, waits_for_the_end_of_a_visit_to_its_heap) {
  give(take(1));
  heaps::owner_lock& visits = threads::own_heap()->visits;
  std::atomic<bool> has_ended = false;
  worker visitor;
  visitor.run([&] { ASSERT_TRUE(visits.try_visit()); });
  std::thread end_of_visit([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    has_ended = true;
    visits.end_visit();
  });
  EXPECT_EQ(in_child([&] { return has_ended ? 0 : 1; }), ending{});
  end_of_visit.join();
}

TEST(fork, heaps_of_other_threads_stay_theirs_and_their_blocks_can_be_freed) {
  give(take(1));
  worker second_thread;
  std::vector<void*> blocks;
  heaps::heap* other_heap = nullptr;
  second_thread.run([&] {
    for (int round = 0; round < 500; ++round) blocks.push_back(take(64));
    blocks.push_back(take(1'000'000));
    other_heap = static_cast<heaps::heap*>(detail::local_heap);
  });
  EXPECT_EQ(in_child([&] {
              if (other_heap->state.load() != ownership::occupied) return 1;
              for (void* block : blocks) {
                static_cast<char*>(block)[0] = 1;
                give(block);
              }
              api::trim();
              const std::uint64_t heaps_before = heaps::registry::count().heaps;
              for (int thread = 0; thread < 3; ++thread) {  // nobody adopts it
                std::thread([&] {
                  for (int round = 0; round < 500; ++round) {
                    if (heaps::owner_in(detail::key_of(take(64))) == other_heap) _exit(2);
                  }
                }).join();
              }
              if (heaps::registry::count().heaps > heaps_before + 1 || !heaps::central().is_valid()) return 3;
              return other_heap->state.load() == ownership::occupied ? 0 : 4;
            }),
            ending{});
  EXPECT_EQ(other_heap->state.load(), ownership::occupied);
  second_thread.run([&] {
    for (void* block : blocks) give(block);
  });
}

TEST(fork, the_child_counts_frees_that_wait) {
  worker owner;
  std::vector<void*> blocks(1'000);
  owner.run([&] {
    for (void*& block : blocks) block = take(64);
  });
  const std::uint64_t before = heaps::registry::waiting().blocks;
  for (std::size_t number = 0; number < 600; ++number) give(blocks[number]);
  EXPECT_EQ(heaps::registry::waiting().blocks, before + 600);
  EXPECT_EQ(in_child([&] {
              for (std::size_t number = 600; number < 1'000; ++number) give(blocks[number]);
              return heaps::registry::waiting().blocks == before + 1'000 ? 0 : 1;
            }),
            ending{});
  owner.run([&] {
    for (std::size_t number = 600; number < 1'000; ++number) give(blocks[number]);
    static_cast<heaps::heap*>(detail::local_heap)->collect();
  });
}

// The second thread is left behind when it has set the bit of a block, and before it has announced that.
TEST(fork, a_release_in_the_child_ends_frees_that_were_under_way) {
  give(take(1));
  worker second_thread;
  tarn::heap object;
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{9000}}) {
    void* const block = object.allocate(bytes);
    pages::slab* const home = pages::page_map::slab_of(block);
    second_thread.run([&] { home->free_remotely(0, std::uint64_t{1} << home->number_of(block)); });
    EXPECT_EQ(in_child([&] {
                object.release();
                void* const next_block = object.allocate(bytes);
                std::thread([&] { give(next_block); }).join();
                return next_block == block && object.is_valid() ? 0 : 1;
              }),
              ending{});
    home->take_remote([](std::size_t, std::uint64_t) {});
    object.release();
  }
}

TEST(fork, an_idle_heap_can_be_adopted_in_the_child) {
  void* block = nullptr;
  std::thread([&] { block = take(64); }).join();
  auto* const idle = heaps::owner_in(detail::key_of(block));
  EXPECT_EQ(in_child([&] {
              if (idle->state.load() != ownership::idle) return 1;
              bool is_adopted = false;
              std::thread([&] {
                is_adopted = (give(take(64)), static_cast<heaps::heap*>(detail::local_heap)) == idle;
              }).join();
              give(block);
              return is_adopted ? 0 : 2;
            }),
            ending{});
  give(block);
}

TEST(fork, every_lock_is_open_in_the_child_and_in_the_parent) {
  tarn::heap object({.name = "lane"});
  give(take(1));
  const auto use_everything = [&] {
    give(take(1'000'000));
    process_heap().deallocate(process_heap().allocate(100));
    object.deallocate(object.allocate(1'000'000));
    const tarn::heap another({.name = "another"});
    api::trim();
    std::thread([] { give(take(100)); }).join();
    return object.is_valid() ? 0 : 1;
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(in_child(use_everything), ending{});
    EXPECT_EQ(use_everything(), 0);
  }
}

TEST(fork, handlers_from_before_may_allocate_while_all_locks_are_held) {
  std::atomic<bool> is_over{false};
#if !TARN_ADDRESS_SANITIZER  // see below
  std::thread busy([&] {
    while (!is_over) use_everything_once();
  });
#endif
  handlers_are_on = true;
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(in_child([] {
                alarm(20);
                use_everything_once();
                return heaps::central().is_valid() ? 0 : 1;
              }),
              ending{});
  }
  handlers_are_on = false;
  is_over = true;
#if !TARN_ADDRESS_SANITIZER
  busy.join();
#endif
  use_everything_once();
  EXPECT_TRUE(heaps::central().is_valid());
}

// Fork handlers fork themselves while all locks are held.
bool must_fork_in_handler = false;
void fork_in_handler() {
  if (!std::exchange(must_fork_in_handler, false)) return;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // this child continues the outer fork, and is the parent in it
    return;
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
[[gnu::constructor(101)]] void install_forking_handler() { pthread_atfork(fork_in_handler, nullptr, nullptr); }

TEST(fork, a_fork_by_a_handler_of_a_fork_leaves_the_outer_ones_locks_held) {
#if TARN_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizer's own allocator does not survive such a fork";
#endif
  const pid_t self = getpid();
  std::atomic<bool> is_over{false};
  std::thread busy([&] {
    while (!is_over) use_everything_once();
  });
  for (int round = 0; round < 15; ++round) {
    must_fork_in_handler = true;
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      use_everything_once();
      auto* const own_heap = static_cast<heaps::heap*>(detail::local_heap);
      _exit(heaps::central().is_valid() && own_heap->owner_thread.load() == platform::thread_number() ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    if (getpid() != self) {  // the child of the handler, in which the outer fork had a child, too
      use_everything_once();
      _exit(status == 0 && heaps::central().is_valid() ? 0 : 1);
    }
  }
  is_over = true;
  busy.join();
}

// The lock of a space is open while a thread gives memory back. That thread does not exist in the child.
std::atomic<int> purges{0};
std::atomic<bool> may_purge_end{false};
void wait_in_purge() {
  ++purges;
  while (!may_purge_end) sched_yield();
}

TEST(fork, works_while_another_thread_gives_memory_back) {
  constexpr std::size_t bytes = std::size_t{3} << 20;
  api::trim();
  void* const live_block = take(bytes);  // keeps the segment
  give(take(bytes));
  threads::own_heap()->visit_large_cache(true);  // the central space has it now
  const std::size_t mapped = platform::mapped_bytes();
  platform::fake::call_at_purge(wait_in_purge);
  std::thread purger([] {
    for (int age = 0; age < 3; ++age) {
      platform::fake::advance_ms(10'000);
      heaps::central().purge(platform::now_ms(), 500);
    }
  });
  while (purges == 0) sched_yield();
  EXPECT_EQ(in_child([=] {
              alarm(20);
              platform::fake::call_at_purge(nullptr);
              if (!heaps::central().is_valid()) return 1;
              const std::uint64_t before = platform::purge_totals().bytes;
              for (int age = 0; age < 3; ++age) {
                platform::fake::advance_ms(10'000);
                heaps::central().purge(platform::now_ms(), 500);
              }
              if (platform::purge_totals().bytes - before < bytes) {
                return 2;  // memory on its way to the system is part of it
              }
              give(take(bytes));
              // An address in another leaf of the page map brings that leaf.
              const std::size_t added = platform::mapped_bytes() - mapped;
              return added == 0 || added == sizeof(detail::page_leaf) ? 0 : 3;
            }),
            ending{});
  may_purge_end = true;
  purger.join();
  platform::fake::call_at_purge(nullptr);
  EXPECT_TRUE(heaps::central().is_valid());
  give(live_block);
}

// A signal handler stops a visit in the middle, where it asks for its barrier: there the heap is marked as visited. The
// handler waits until the fork is over in the parent, or waits for the visit. Then the call fails, and the visit ends.
struct stopped_visit {
  static inline std::atomic<bool> has_stopped{false};
  static inline std::atomic<bool> is_forked{false};
  static void stop(int) {
    const std::uint64_t before = platform::fake::kernel_calls();
    if (has_stopped.exchange(true)) {
      return;  // the visitor asks again
    }
    while (!is_forked && platform::fake::kernel_calls() == before) sched_yield();
  }
};

// If the heap's thread ends between the visitor's look at the heap's state and the visit, the child may adopt the heap.
// The mark of the visit must be gone by then, or each slow path of the adopting thread would wait forever for its end.
TEST(fork, waits_until_nobody_visits_a_heap) {
  give(take(1));
  std::atomic<heaps::heap*> visited{nullptr};
  std::atomic<bool> may_owner_end{false};
  std::thread owner([&] {
    give(take(64));
    visited = threads::own_heap();
    visited.notify_one();
    may_owner_end.wait(false);
  });
  visited.wait(nullptr);
  std::signal(SIGSYS, stopped_visit::stop);
  std::atomic<bool> is_refused{false};
  std::thread visitor([&] {
    if (filter_call(SYS_membarrier, SECCOMP_RET_TRAP) != 0) {  // in this thread only
      is_refused = stopped_visit::has_stopped = true;
      return;
    }
    visited.load()->visit_now();
  });
  while (!stopped_visit::has_stopped) sched_yield();
  EXPECT_FALSE(is_refused) << "the kernel refuses filters";
  EXPECT_EQ(in_child([&] {
              alarm(20);
              visited.load()->visits.enter();
              visited.load()->visits.leave();
              return 0;
            }),
            ending{});
  stopped_visit::is_forked = true;
  visitor.join();
  may_owner_end = true;
  may_owner_end.notify_one();
  owner.join();
}

TEST(fork, works_in_a_child_of_a_child) {
  void* const block = take(64);
  EXPECT_EQ(in_child([=] {
              const ending inner = in_child([=] {
                give(block);
                return heaps::central().is_valid() ? 0 : 1;
              });
              give(block);
              return inner == ending{} ? 0 : 1;
            }),
            ending{});
  give(block);
}

// Forks while other threads are in the middle of everything: a lock that another thread holds would hang the child.
// never ends.
TEST(fork, works_while_other_threads_allocate) {
#if TARN_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizer's own allocator, which the fake platform uses, does not survive such a fork";
#endif
  std::atomic<bool> is_over{false};
  std::vector<std::thread> busy;
  for (int thread = 0; thread < 2; ++thread) {
    busy.emplace_back([&] {
      while (!is_over) {
        give(take(64));
        give(take(700'000));
        tarn::heap object;
        void* const block = object.allocate(5'000);
        static_cast<void>(block);
        api::trim();
        std::thread([] { give(take(30)); }).join();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(in_child([] {
                alarm(20);
                for (std::size_t bytes = 16; bytes < 3'000'000; bytes *= 3) give(take(bytes));
                process_heap().deallocate(process_heap().allocate(100));
                {
                  tarn::heap object;
                  void* const block = object.allocate(100);
                  static_cast<void>(block);
                }
                api::trim();
                return 0;
              }),
              ending{});
  }
  is_over = true;
  for (std::thread& thread : busy) thread.join();
}

}  // namespace
