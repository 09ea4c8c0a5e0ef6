// Tests a thread's own caches: the objects they keep, the return of handles that travel, and the end of it all.
#include <tarn/recycle.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tarn/allocator.hpp>
#include <tarn/heap.hpp>
#include <tarn/pooled.hpp>

#include "support/worker.hpp"

namespace {

using support::worker;

// Each test has its own type, because each type has its own cache.
template <int Test>
struct counted_in_test {
  counted_in_test() { ++alive, ++constructed; }
  counted_in_test(const counted_in_test&) = delete;
  counted_in_test& operator=(const counted_in_test&) = delete;
  ~counted_in_test() { --alive; }
  void clear() {}
  static inline std::atomic<int> alive = 0, constructed = 0;
};

TEST(recycle, a_string_keeps_its_capacity) {
  const char* before;
  {
    auto line = tarn::recycle<std::string>();
    line->assign(1000, 'x');
    before = line->data();
  }
  {
    const auto line = tarn::recycle<std::string>();
    EXPECT_EQ(*line, "");
    EXPECT_EQ(line->data(), before);
    const auto inner = tarn::recycle<std::string>();
    EXPECT_NE(inner.get(), line.get());
  }
  tarn::recycler<std::string>::clear();
  EXPECT_EQ(tarn::recycler<std::string>::size(), 0u);
}

TEST(recycle, steady_use_makes_no_object) {
  using object = counted_in_test<1>;
  for (int round = 0; round < 100; ++round) {
    const auto a = tarn::recycle<object>(), b = tarn::recycle<object>(), c = tarn::recycle<object>();
  }
  EXPECT_EQ(object::constructed, 3);
  {
    std::vector<tarn::recycled_object<object>> handles;
    for (int number = 0; number < 50; ++number) handles.push_back(tarn::recycle<object>());
  }
  EXPECT_EQ(object::alive, 16);
  EXPECT_EQ(tarn::recycler<object>::size(), 16u);
}

TEST(recycle, each_thread_has_its_own_and_empties_it) {
  using object = counted_in_test<2>;
  { const auto object_of_thread = tarn::recycle<object>(); }
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([] {
      EXPECT_EQ(tarn::recycler<object>::size(), 0u);
      for (int round = 0; round < 100; ++round) {
        const auto a = tarn::recycle<object>(), b = tarn::recycle<object>();
      }
      EXPECT_EQ(tarn::recycler<object>::size(), 2u);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(object::alive, 1);
  EXPECT_EQ(object::constructed, 9);
}

TEST(recycle, a_handle_that_travels_ends_where_it_is) {
  using object = counted_in_test<3>;
  worker second_thread;
  auto recycled_object = tarn::recycle<object>();
  second_thread.run([moved = std::make_shared<tarn::recycled_object<object>>(std::move(recycled_object))]() mutable {
    moved.reset();
  });
  EXPECT_EQ(tarn::recycler<object>::size(), 0u);
  second_thread.run([] { EXPECT_EQ(tarn::recycler<object>::size(), 1u); });
  std::optional<tarn::recycled_object<object>> travelling;
  second_thread.run([&] { travelling.emplace(tarn::recycle<object>()); });
  second_thread.end();
  EXPECT_EQ(object::alive, 1);
  travelling.reset();  // the thread that it came from has ended
  EXPECT_EQ(tarn::recycler<object>::size(), 1u);
  EXPECT_EQ(object::constructed, 1);
}

// An object that is taken in a scope of another heap must not die with that heap.
TEST(recycle, objects_do_not_live_in_the_current_heap) {
  struct piece : tarn::pooled<piece> {
    long number = 7;
    void clear() { number = 8; }
  };
  tarn::heap lane;
  {
    const tarn::scoped_current_heap use(lane);
    const auto first = tarn::recycle<piece>();
    EXPECT_NE(tarn::owner_of(first.get()), &lane);
  }
  lane.release();
  EXPECT_EQ(tarn::recycle<piece>()->number, 8);
}

// thread_local objects that end before and after the cache use it while they do.
template <int Test>
struct at_end {
  using object = counted_in_test<Test>;
  explicit at_end(std::vector<std::size_t>& sizes_) : sizes(sizes_) {}
  ~at_end() {
    for (int round = 0; round < 3; ++round) {
      const auto first = tarn::recycle<object>(), two = tarn::recycle<object>();
      EXPECT_NE(first.get(), two.get());
    }
    sizes.push_back(tarn::recycler<object>::size());
  }
  std::vector<std::size_t>& sizes;
};

TEST(recycle, thread_local_destructors_may_run_in_any_order) {
  using object = counted_in_test<4>;
  std::vector<std::size_t> sizes;
  std::thread([&sizes] {
    static thread_local at_end<4> ends_last(sizes);
    static_cast<void>(ends_last);
    { const auto first = tarn::recycle<object>(); }  // arms the end of the cache
    static thread_local at_end<4> ends_first(sizes);
    static_cast<void>(ends_first);
  }).join();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(object::alive, 0);
}

// The first use is in such a destructor.
TEST(recycle, may_be_used_first_in_a_thread_local_destructor) {
  using object = counted_in_test<5>;
  std::vector<std::size_t> sizes;
  std::thread([&sizes] {
    static thread_local at_end<5> ends_last(sizes);
    static_cast<void>(ends_last);
  }).join();
  EXPECT_EQ(sizes.size(), 1u);
  EXPECT_EQ(object::alive, 0);
}

// A thread_local handle is given back after the cache ended.
TEST(recycle, handles_may_outlive_the_cache) {
  using object = counted_in_test<6>;
  std::thread([] {
    static thread_local std::optional<tarn::recycled_object<object>> last_object;
    last_object.emplace(tarn::recycle<object>());
    { const auto first = tarn::recycle<object>(); }
  }).join();
  EXPECT_EQ(object::alive, 0);
}

// Objects hold recycled ones themselves, of the same type and of others.
struct tree {
  std::vector<tarn::recycled_object<tree>> children;
  std::optional<tarn::recycled_object<counted_in_test<7>>> leaf;
  void grow(int depth) {
    leaf.emplace(tarn::recycle<counted_in_test<7>>());
    for (int number = 0; depth > 0 && number < 2; ++number) {
      children.push_back(tarn::recycle<tree>());
      children.back()->grow(depth - 1);
    }
  }
  void clear() {
    children.clear();
    leaf.reset();
  }
};

TEST(recycle, objects_may_hold_recycled_ones) {
  std::thread([] {
    int constructed_before = 0;
    for (int round = 0; round < 10; ++round) {
      tarn::recycle<tree>()->grow(3);  // 15 trees
      if (round == 0) constructed_before = counted_in_test<7>::constructed;
    }
    EXPECT_EQ(counted_in_test<7>::constructed, constructed_before);
    EXPECT_EQ(tarn::recycler<tree>::size(), 15u);
    tarn::recycle<tree>()->grow(5);  // 63, most of them destroyed
    EXPECT_EQ(tarn::recycler<tree>::size(), 16u);
  }).join();
  EXPECT_EQ(counted_in_test<7>::alive, 0);
}

// An object that is destroyed at the end of the thread gives others to a cache that has ended or not begun.
struct messy {
  bool is_used = false;
  void clear() { is_used = true; }
  ~messy() {
    if (is_used) {
      const auto first = tarn::recycle<messy>();
      const auto two = tarn::recycle<counted_in_test<8>>();
    }
  }
};

TEST(recycle, destructors_of_kept_objects_use_caches) {
  std::thread([] { const auto first = tarn::recycle<messy>(), two = tarn::recycle<messy>(); }).join();
  EXPECT_EQ(counted_in_test<8>::alive, 0);
}

TEST(recycle, threads_may_pass_handles_around) {
  using object = counted_in_test<9>;
  {
    std::vector<tarn::recycled_object<object>> queue;
    worker first, second;
    for (int round = 0; round < 50; ++round) {
      first.run([&] {
        for (int number = 0; number < 20; ++number) queue.push_back(tarn::recycle<object>());
      });
      second.run([&] { queue.clear(); });
    }
  }
  EXPECT_EQ(object::alive, 0);
}

}  // namespace
