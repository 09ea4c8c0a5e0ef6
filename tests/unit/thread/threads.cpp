// Tests the heap of a thread, from its first allocation until after its end.
#include "memory/thread/threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memory/api/blocks.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"
#include "support/current_heap.hpp"
#include "support/worker.hpp"

namespace {

using namespace tarn;
using heaps::heap;
using heaps::registry;
using support::give;
using support::take;
using support::worker;
namespace fake = platform::fake;

heap* owner(const void* block) { return heaps::owner_in(detail::key_of(block)); }
heap* current() { return static_cast<heap*>(detail::local_heap); }

class threads_test : public testing::Test {
 protected:
  void SetUp() override {
    fake::reset();
    ASSERT_TRUE(threads::initialise());
    give(take(1));  // gives the main thread a heap
    api::trim();
    ASSERT_EQ(heaps::central().used_bytes(), 0u);
  }
  void TearDown() override {
    fake::reset();
    api::trim();
    heap& process = *threads::process_heap();
    {
      const platform::locked hold(process.mutex);
      process.send_all();
      process.collect();
      process.flush_all();
    }
    EXPECT_EQ(heaps::central().used_bytes(), 0u) << "blocks were lost";
    EXPECT_TRUE(heaps::central().is_valid());
  }
};

TEST_F(threads_test, a_thread_has_no_heap_until_it_needs_one) {
  worker second_thread;
  const auto before = registry::count();
  second_thread.run([] {
    EXPECT_EQ(detail::local_heap, &heaps::no_heap);
    EXPECT_EQ(threads::own_heap(), nullptr);
    give(nullptr);
    EXPECT_EQ(detail::local_heap, &heaps::no_heap);
  });
  EXPECT_EQ(registry::count().started, before.started);
  second_thread.run([] {
    void* const block = take(100);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(owner(block), current());
    EXPECT_EQ(threads::own_heap(), current());
    EXPECT_EQ(current()->owner_thread.load(), platform::thread_number());
    give(block);
  });
  EXPECT_EQ(registry::count().started, before.started + 1);
}

// Any first operation of a thread gives it one heap.
TEST_F(threads_test, the_first_call_may_be_any) {
  const std::vector<std::function<void(void*)>> firsts = {
      [](void* block) { give(block), give(take(8)); },
      [](void* block) { give(block), give(take(300'000)); },
      [](void* block) { detail::deallocate(detail::local_heap, block, 100, 16); },
      [](void* block) { give(block), give(detail::allocate_any(detail::local_heap, 100, 4096)); },
      [](void* block) { give(api::reallocate(detail::local_heap, block, 20'000)); },
      [](void* block) { give(api::reallocate(detail::local_heap, block, 5)); },
      [](void* block) { give(block), give(api::reallocate(detail::local_heap, nullptr, 100)); },
      [](void* block) { give(block), give(api::allocate_zeroed(detail::local_heap, 3, 5)); },
      [](void* block) { give(block), give(api::allocate_zeroed(detail::local_heap, 3, 500'000)); },
  };
  for (std::size_t index = 0; index < firsts.size(); ++index) {
    void* const block = take(100);
    const auto before = registry::count();
    worker second_thread;
    second_thread.run([&] { firsts[index](block); });
    second_thread.end();
    EXPECT_EQ(registry::count().started, before.started + 1) << index;
    EXPECT_EQ(registry::count().abandoned, before.abandoned + 1) << index;
  }
}

TEST_F(threads_test, live_threads_have_heaps_of_their_own) {
  std::vector<std::unique_ptr<worker>> workers;
  std::set<heap*> heaps{current()};
  for (int thread = 0; thread < 12; ++thread) {
    workers.push_back(std::make_unique<worker>());
    workers.back()->run([&] {
      give(take(64));
      EXPECT_TRUE(heaps.insert(current()).second);
    });
  }
}

TEST_F(threads_test, a_thread_that_ends_leaves_its_heap_to_the_next) {
  heap* first = nullptr;
  void* block = nullptr;
  {
    worker ending;
    ending.run([&] {
      block = take(5'000);
      first = current();
    });
  }
  EXPECT_EQ(first->state.load(), heaps::ownership::idle);
  EXPECT_EQ(owner(block), first);
  EXPECT_EQ(first->statistics().used_bytes, 5'120u);
  const auto before = registry::count();
  worker next;
  next.run([&] {
    give(take(1));
    EXPECT_EQ(current(), first);
    EXPECT_EQ(first->owner_thread.load(), platform::thread_number());
    give(block);
  });
  EXPECT_EQ(registry::count().adopted, before.adopted + 1);
  EXPECT_EQ(registry::count().heaps, before.heaps);
}

TEST_F(threads_test, a_free_after_the_owners_end_is_not_lost) {
  std::vector<void*> blocks;
  {
    worker ending;
    ending.run([&] {
      for (std::size_t bytes = 16; bytes < 2'000'000; bytes += bytes / 3) blocks.push_back(take(bytes));
    });
  }
  EXPECT_GT(heaps::central().used_bytes(), 2'000'000u);
  for (void* block : blocks) give(block);
}

TEST_F(threads_test, thousands_of_threads_need_no_more_than_one) {
  const auto life = [] {
    std::vector<void*> blocks;
    for (std::size_t bytes = 16; bytes < 300'000; bytes *= 2) blocks.push_back(take(bytes));
    for (void* block : blocks) give(block);
  };
  for (int thread = 0; thread < 3; ++thread) std::thread(life).join();
  const auto before = registry::count();
  const std::size_t mapped = platform::mapped_bytes();
  char* const mark = static_cast<char*>(pages::metadata::allocate(1, 1));
  for (int thread = 0; thread < 500; ++thread) std::thread(life).join();
  EXPECT_EQ(registry::count().heaps, before.heaps);
  EXPECT_EQ(registry::count().adopted, before.adopted + 500);
  EXPECT_EQ(pages::metadata::allocate(1, 1), mark + 1);
  EXPECT_EQ(platform::mapped_bytes(), mapped);
}

TEST_F(threads_test, own_heap_stays_while_another_is_current) {
  heap* const own_heap = current();
  detail::local_heap = threads::process_heap();
  EXPECT_EQ(threads::own_heap(), own_heap);
  void* const block = take(64);
  EXPECT_EQ(owner(block), threads::process_heap());
  detail::local_heap = own_heap;
  give(block);
  api::trim();  // sends the frees
}

// --------------------------------------------------------------- at the end of a thread

struct thread_local_user {
  std::function<void()> at_end;
  ~thread_local_user() { at_end(); }
};

TEST_F(threads_test, a_thread_local_destructor_still_has_the_heap) {
  void* last_block = nullptr;
  heap* own_heap = nullptr;
  std::thread([&] {
    own_heap = static_cast<heap*>((give(take(1)), detail::local_heap));
    static thread_local thread_local_user object;
    object.at_end = [&] {
      EXPECT_EQ(current(), own_heap);
      give(take(100));
      last_block = take(100);
    };
  }).join();
  EXPECT_EQ(owner(last_block), own_heap);
  give(last_block);
}

pthread_key_t late_key;
void* late_block = nullptr;
void run_late(void* block) {  // runs after Tarn's own key: the heap is gone
  give(block);
  EXPECT_EQ(current(), threads::process_heap());
  give(take(40));
  late_block = take(70'000);
  void* const moved = api::reallocate(detail::local_heap, take(10), 5'000);
  give(moved);
}

TEST_F(threads_test, a_later_destructor_uses_the_heap_of_the_process) {
  static const bool has_key = pthread_key_create(&late_key, run_late) == 0;
  ASSERT_TRUE(has_key);
  const auto before = registry::count();
  std::thread([] { pthread_setspecific(late_key, take(40)); }).join();
  EXPECT_EQ(registry::count().started, before.started + 1);  // it was not armed again
  ASSERT_NE(late_block, nullptr);
  EXPECT_EQ(owner(late_block), threads::process_heap());
  give(late_block);
  api::trim();
}

// ---------------------------------------------------------------------- without memory

TEST_F(threads_test, a_thread_without_a_heap_shares_the_one_of_the_process) {
  std::vector<std::unique_ptr<worker>> workers;
  while (registry::any_idle()) {
    workers.push_back(std::make_unique<worker>());
    workers.back()->run([] { give(take(1)); });
  }
  detail::local_heap = threads::process_heap();
  void* const primer = take(64);  // gives that heap blocks of this class
  detail::local_heap = threads::own_heap();
  fake::fail_requests_from(1);
  while (pages::metadata::allocate(64, 64) != nullptr) {
  }
  worker poor;
  poor.run([] {
    void* const block = take(64);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(owner(block), threads::process_heap());
    EXPECT_EQ(detail::local_heap, &heaps::no_heap);
    give(block);
  });
  fake::fail_requests_from(0);
  poor.run([] {
    void* const block = take(64);
    EXPECT_EQ(owner(block), threads::own_heap());
    give(block);
  });
  give(primer);
}

TEST_F(threads_test, a_failed_allocation_leaves_the_thread_usable) {
  worker second_thread;
  for (std::uint64_t n = 1; n <= 6; ++n) {
    fake::fail_request(n);
    second_thread.run([] {
      for (const std::size_t bytes : {16, 4'000, 100'000, 900'000}) give(take(bytes));
    });
    fake::fail_request(0);
    second_thread.run([] {
      for (const std::size_t bytes : {16, 4'000, 100'000, 900'000}) {
        void* const block = take(bytes);
        EXPECT_NE(block, nullptr);
        give(block);
      }
      api::trim();
      EXPECT_TRUE(current()->is_valid());
    });
  }
}

// Returns when the thread waits in the kernel.
void wait_until_asleep(std::uint32_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (std::string line; line.find(") S ") == std::string::npos; std::this_thread::yield()) {
    std::getline(std::ifstream(path), line);
  }
}

// The thread reads who owns its block before it has a heap. Then it gets a heap without a thread: the one that owned
// the block until the main thread adopted the slab.
TEST_F(threads_test, a_thread_that_begins_with_a_free_asks_again_who_owns_the_block) {
  std::list<worker> others;  // have all other heaps
  while (registry::any_idle()) others.emplace_back().run([] { give(take(1)); });
  for (const std::size_t bytes : {std::size_t{600}, std::size_t{20'000}}) {
    void* block = nullptr;
    std::thread([&] { block = take(bytes); }).join();
    heap* const loser = owner(block);
    std::atomic<std::uint32_t> number{0};
    registry::lock().lock_for_fork();  // this thread may take it again
    std::thread freeing_thread([&] {
      number = platform::thread_number();
      give(block);
      EXPECT_EQ(current(), loser);
    });
    while (number == 0) std::this_thread::yield();
    wait_until_asleep(number);
    std::vector<void*> taken_blocks;
    while (owner(block) != current()) taken_blocks.push_back(take(bytes));
    while (!taken_blocks.empty()) {
      give(taken_blocks.back());
      taken_blocks.pop_back();
    }
    registry::lock().unlock_after_fork();
    freeing_thread.join();
    void* const next_block = take(bytes);
    EXPECT_EQ(owner(next_block), current());
    give(next_block);
    EXPECT_TRUE(current()->is_valid());
    EXPECT_TRUE(loser->is_valid());
  }
}

// Many threads use the process heap at once, under its lock.
TEST_F(threads_test, many_threads_share_one_heap) {
  std::vector<std::thread> busy_threads;
  for (int thread = 0; thread < 3; ++thread) {
    busy_threads.emplace_back([thread] {
      give(take(1));
      detail::local_heap = threads::process_heap();
      std::vector<unsigned char*> own_blocks;
      for (int round = 0; round < 3'000; ++round) {
        auto* const block = static_cast<unsigned char*>(take(static_cast<std::size_t>(16 + round % 500)));
        *block = static_cast<unsigned char>(thread);
        own_blocks.push_back(block);
        if (own_blocks.size() > 50) {
          EXPECT_EQ(*own_blocks.front(), thread);
          give(own_blocks.front());
          own_blocks.erase(own_blocks.begin());
        }
      }
      for (unsigned char* block : own_blocks) give(block);
      detail::local_heap = threads::own_heap();
    });
  }
  for (std::thread& thread : busy_threads) thread.join();
  EXPECT_TRUE(threads::process_heap()->is_valid());
}

}  // namespace
