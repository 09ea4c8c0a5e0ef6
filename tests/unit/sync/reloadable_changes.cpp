// Listeners of a reloadable.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <tarn/reloadable.hpp>

namespace {

using snapshot = tarn::snapshot<int>;

TEST(on_change, is_called_after_each_change_until_it_ends) {
  tarn::reloadable<int> number(0);
  std::vector<int> values;
  {
    const auto listener = number.on_change([&](const snapshot& now) { values.push_back(*now); });
    number.publish(1);
    EXPECT_EQ(number.update([](int& n) { n = 2; }), 3u);
    EXPECT_TRUE(number.try_publish(3));
  }
  number.publish(4);
  EXPECT_EQ(values, (std::vector{1, 2, 3}));
}

TEST(on_change, may_publish_and_end_itself) {
  tarn::reloadable<int> number(0);
  std::vector<int> values;
  std::optional<tarn::change_listener<snapshot>> listener;
  listener.emplace(number.on_change([&](const snapshot& now) {
    values.push_back(*now);
    if (*now == 1) {
      number.publish(2);
    } else {
      listener.reset();
    }
  }));
  number.publish(1);
  number.publish(3);
  EXPECT_EQ(values, (std::vector{1, 2}));
}

TEST(on_change, may_publish_each_time) {
  tarn::reloadable<int> number(0);
  std::vector<int> values;
  bool is_inside = false;
  const auto listener = number.on_change([&](const snapshot& now) {
    EXPECT_FALSE(std::exchange(is_inside, true));
    values.push_back(*now);
    if (*now < 100) {
      number.publish(*now + 1);
      EXPECT_EQ(number.with([](int n) { return n; }), *now + 1);
    }
    is_inside = false;
  });
  number.publish(1);
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(values, expected);
}

TEST(on_change, two_that_publish_in_two_threads_do_not_wait_for_each_other) {
  tarn::reloadable<int> number(0);
  std::atomic<bool> is_second_inside{false}, is_first_inside{false}, is_first_done{false};
  std::atomic<int> last{0};
  std::thread writer;
  const auto first = number.on_change([&](const snapshot& now) {
    if (*now == 2) {
      is_first_inside = true;
      number.publish(3);
      is_first_done = true;
    }
  });
  const auto second = number.on_change([&](const snapshot& now) {
    last = *now;
    if (*now == 1) {
      is_second_inside = true;
      while (!is_first_inside) std::this_thread::yield();
      number.publish(4);
      while (!is_first_done) {  // its publish must not wait for this call
        std::this_thread::yield();
      }
    }
  });
  writer = std::thread([&] { number.publish(1); });
  while (!is_second_inside) std::this_thread::yield();
  number.publish(2);
  writer.join();
  EXPECT_EQ(last, number.with([](int n) { return n; }));
}

TEST(on_change, what_it_throws_comes_out_of_publish_after_the_other_calls) {
  tarn::reloadable<int> number(0);
  int value = 0;
  const auto bad = number.on_change([](const snapshot&) { throw std::runtime_error("no"); });
  const auto good = number.on_change([&](const snapshot& now) { value = *now; });
  EXPECT_THROW(number.publish(5), std::runtime_error);
  EXPECT_EQ(value, 5);
  const auto now = number.snapshot();
  EXPECT_EQ(*now, 5) << "it is published";
}

TEST(on_change, the_newest_version_is_never_left_out) {
  tarn::reloadable<int> number(0);
  std::atomic<std::uint64_t> newest{0};
  std::atomic<bool> is_inside{false}, has_overlap{false}, is_older{false};
  const auto listener = number.on_change([&](const snapshot& now) {
    has_overlap = has_overlap || is_inside.exchange(true);
    is_older = is_older || now.version() <= newest;
    newest = now.version();
    is_inside = false;
  });
  std::vector<std::thread> running;
  for (int thread = 0; thread < 3; ++thread) {
    running.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        number.update([](int& n) { ++n; });
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(newest, number.version_number());
  EXPECT_FALSE(has_overlap);
  EXPECT_FALSE(is_older);
}

TEST(on_change, a_listener_that_another_one_ends_is_not_called) {
  tarn::reloadable<int> number(0);
  std::optional<tarn::change_listener<snapshot>> second;
  const auto first = number.on_change([&](const snapshot&) { second.reset(); });
  bool is_called = false;
  second.emplace(number.on_change([&](const snapshot&) { is_called = true; }));
  number.publish(1);
  EXPECT_FALSE(is_called);
}

}  // namespace
