// The child of a fork has one thread and a copy of all heaps.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "front/blocks.hpp"
#include "heap/lookup.hpp"
#include "heap/registry.hpp"
#include "platform/fake.hpp"
#include "platform/platform.hpp"
#include "support/child.hpp"
#include "support/current_heap.hpp"
#include "support/worker.hpp"
#include "tarn/heap.hpp"
#include "thread/threads.hpp"

namespace {

using namespace tarn;
using heaps::ownership;
using support::ending;
using support::give;
using support::in_child;
using support::take;
using support::worker;

// Handlers from before the engine's: they run while it holds its locks.
void use_everything_once();
bool handlers_are_on = false;
void handler() {
  if (handlers_are_on) {
    use_everything_once();
  }
}
[[gnu::constructor(101)]] void install_first() {
  static_cast<void>(platform::fake::outstanding_bytes());  // its handlers stand for the kernel: before all others
  pthread_atfork(handler, handler, handler);
}

void use_everything_once() {
  for (std::size_t bytes = 16; bytes < 3'000'000; bytes = bytes * 5 / 4) {
    give(take(bytes));
  }
  global().deallocate(global().allocate(100));
  tarn::heap object;
  EXPECT_NE(object.allocate(100), nullptr);
  front::trim();
}

TEST(fork, the_child_goes_on_with_its_heap) {
  void* const block = take(64);
  EXPECT_EQ(in_child([=] {
              auto* const own = static_cast<heaps::heap*>(detail::local);
              give(block);
              for (std::size_t bytes = 16; bytes < 3'000'000; bytes *= 2) {
                give(take(bytes));
              }
              const bool mine = own->owner_thread.load() == platform::thread_number() && own == threads::own_heap();
              return mine && own->is_valid() && heaps::central().is_valid() ? 0 : 1;
            }),
            ending{});
  give(block);
}

TEST(fork, heaps_of_other_threads_are_frozen_and_their_blocks_can_be_freed) {
  give(take(1));
  worker other;
  std::vector<void*> blocks;
  heaps::heap* its = nullptr;
  other.run([&] {
    for (int round = 0; round < 500; ++round) {
      blocks.push_back(take(64));
    }
    blocks.push_back(take(1'000'000));
    its = static_cast<heaps::heap*>(detail::local);
  });
  EXPECT_EQ(in_child([&] {
              if (its->state.load() != ownership::frozen) {
                return 1;
              }
              for (void* each : blocks) {
                static_cast<char*>(each)[0] = 1;
                give(each);
              }
              front::trim();
              const std::uint64_t heaps_before = heaps::registry::count().heaps;
              for (int thread = 0; thread < 3; ++thread) {  // nobody takes the frozen one over
                std::thread([&] {
                  for (int round = 0; round < 500; ++round) {
                    if (heaps::owner_in(detail::key_of(take(64))) == its) {
                      _exit(2);
                    }
                  }
                }).join();
              }
              return heaps::registry::count().heaps <= heaps_before + 1 && heaps::central().is_valid() ? 0 : 3;
            }),
            ending{});
  EXPECT_EQ(its->state.load(), ownership::owned);
  other.run([&] {
    for (void* each : blocks) {
      give(each);
    }
  });
}

TEST(fork, an_idle_heap_can_be_adopted_in_the_child) {
  void* block = nullptr;
  std::thread([&] { block = take(64); }).join();
  auto* const idle = heaps::owner_in(detail::key_of(block));
  EXPECT_EQ(in_child([&] {
              if (idle->state.load() != ownership::idle) {
                return 1;
              }
              bool adopted = false;
              std::thread([&] { adopted = (give(take(64)), static_cast<heaps::heap*>(detail::local)) == idle; }).join();
              give(block);
              return adopted ? 0 : 2;
            }),
            ending{});
  give(block);
}

TEST(fork, every_lock_is_open_in_the_child_and_in_the_parent) {
  tarn::heap object({.name = "lane"});
  give(take(1));
  const auto use_everything = [&] {
    give(take(1'000'000));
    global().deallocate(global().allocate(100));
    object.deallocate(object.allocate(1'000'000));
    const tarn::heap another({.name = "another"});
    front::trim();
    std::thread([] { give(take(100)); }).join();
    return object.is_valid() ? 0 : 1;
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(in_child(use_everything), ending{});
    EXPECT_EQ(use_everything(), 0);
  }
}

TEST(fork, handlers_from_before_may_allocate_while_all_locks_are_held) {
  std::atomic<bool> over{false};
#if !TARN_ADDRESS_SANITIZER  // see below
  std::thread busy([&] {
    while (!over) {
      use_everything_once();
    }
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
  over = true;
#if !TARN_ADDRESS_SANITIZER
  busy.join();
#endif
  use_everything_once();
  EXPECT_TRUE(heaps::central().is_valid());
}

TEST(fork, a_child_of_a_child) {
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

// Forks while other threads are in the middle of everything: a lock that somebody holds in the child is a child that
// never ends.
TEST(fork, while_other_threads_allocate) {
#if TARN_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizer's own allocator, which the fake platform uses, does not survive such a fork";
#endif
  std::atomic<bool> over{false};
  std::vector<std::thread> busy;
  for (int thread = 0; thread < 2; ++thread) {
    busy.emplace_back([&] {
      while (!over) {
        give(take(64));
        give(take(700'000));
        tarn::heap object;
        void* const block = object.allocate(5'000);
        static_cast<void>(block);
        front::trim();
        std::thread([] { give(take(30)); }).join();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(in_child([] {
                alarm(20);
                for (std::size_t bytes = 16; bytes < 3'000'000; bytes *= 3) {
                  give(take(bytes));
                }
                global().deallocate(global().allocate(100));
                {
                  tarn::heap object;
                  void* const block = object.allocate(100);
                  static_cast<void>(block);
                }
                front::trim();
                return 0;
              }),
              ending{});
  }
  over = true;
  for (std::thread& each : busy) {
    each.join();
  }
}

}  // namespace
