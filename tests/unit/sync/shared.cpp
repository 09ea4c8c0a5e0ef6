// Tests data under a lock: every access, its result, and that the lock is held and opened.
#include <tarn/shared.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tarn/spin_mutex.hpp>
#include <tarn/with.hpp>

#include "support/child.hpp"
#include "support/worker.hpp"

namespace {

using tarn::shared;

/// Records its operations, and fails on a mistake.
struct logged_mutex {
  void lock() { note('L'), is_held = true; }
  bool try_lock() { return note('t'), !must_refuse && (is_held = true); }
  void unlock() { note('u'), is_held = false; }
  void lock_shared() { note('S'), is_held = true; }
  bool try_lock_shared() { return note('s'), !must_refuse && (is_held = true); }
  void unlock_shared() { note('U'), is_held = false; }
  static void note(char letter) { log += letter; }
  static std::string take_log() { return std::exchange(log, ""); }
  static inline std::string log;
  static inline bool is_held = false, must_refuse = false;
};
using logged = shared<std::string, logged_mutex>;

TEST(shared, with_holds_the_lock_and_gives_the_result) {
  logged text("abc");
  EXPECT_EQ(text.with([](std::string& s) {
    EXPECT_TRUE(logged_mutex::is_held);
    s += "d";
    return s.size();
  }),
            4u);
  EXPECT_EQ(logged_mutex::take_log(), "Lu");
  text.with([](std::string& s) { s.clear(); });
  EXPECT_EQ(logged_mutex::take_log(), "Lu");
}

TEST(shared, readers_take_the_lock_of_readers) {
  const logged text("abc");
  EXPECT_EQ(text.with([](const std::string& s) { return s; }), "abc");
  EXPECT_EQ(text.read(&std::string::size), 3u);
  const auto handle = text.lock_shared();
  EXPECT_EQ(handle->size(), 3u);
  EXPECT_EQ(logged_mutex::take_log(), "SUSUS");
}

TEST(shared, without_readers_reading_takes_the_lock) {
  shared<int> number(7);
  EXPECT_EQ(number.read([&](const int& n) {
    std::thread([&] { EXPECT_FALSE(number.try_lock()); }).join();
    return n;
  }),
            7);
}

TEST(shared, handles_hold_for_a_scope) {
  logged text("abc");
  logged_mutex::take_log();
  {
    auto handle = text.lock();
    handle->append("d");
    *handle += "e";
    EXPECT_EQ(std::as_const(handle)->size(), 5u);
    EXPECT_EQ(logged_mutex::take_log(), "L");
  }
  EXPECT_EQ(logged_mutex::take_log(), "u");
}

TEST(shared, tries_hold_nothing_when_they_fail) {
  logged text("abc");
  {
    auto handle = text.try_lock();
    ASSERT_TRUE(handle);
    handle->clear();
  }
  EXPECT_EQ(logged_mutex::take_log(), "tu");
  logged_mutex::must_refuse = true;
  EXPECT_FALSE(text.try_lock());
  EXPECT_FALSE(text.try_lock_shared());
  logged_mutex::must_refuse = false;
  EXPECT_EQ(logged_mutex::take_log(), "ts");
}

/// Replaces std::timed_mutex: ThreadSanitizer of GCC 12 does not know the call that it makes.
struct patient_mutex : std::mutex {
  template <class Duration>
  bool try_lock_for(Duration duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    while (!try_lock()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

TEST(shared, tries_end_at_their_time) {
  shared<int, patient_mutex> number(1);
  support::worker second_thread;
  {
    auto handle = number.lock();
    second_thread.run([&] { EXPECT_FALSE(number.try_lock_for(std::chrono::milliseconds(1))); });
  }
  second_thread.run([&] {
    auto handle = number.try_lock_for(std::chrono::minutes(10));
    ASSERT_TRUE(handle);
    *handle = 2;
  });
  EXPECT_EQ(number.unsafe_unlocked(), 2);
}

TEST(shared, an_exception_opens_the_lock_and_poisons_nothing) {
  logged text("abc");
  EXPECT_THROW(text.with([](std::string& s) {
    s = "half";
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(logged_mutex::take_log(), "Lu");
  EXPECT_EQ(text.read([](const std::string& s) { return s; }), "half");
}

TEST(shared, results_that_own_what_they_need_may_leave) {
  shared<std::vector<int>> numbers(std::size_t{3}, 7);
  EXPECT_EQ(numbers.with([](auto& values) { return values; }).size(), 3u);
  EXPECT_EQ(*numbers.with([](auto& values) { return std::make_shared<int>(values[0]); }), 7);
  EXPECT_NE(numbers.with([](auto&) { return +[] {}; }), nullptr) << "a function";
  EXPECT_EQ(numbers.with([](auto& values) { return std::pair(values.front(), std::string("x")); }).first, 7);
}

TEST(shared, is_no_larger_than_it_must_be) {
  if constexpr (TARN_CHECKS == 0) {
    EXPECT_EQ(sizeof(shared<int, tarn::spin_mutex>), 24u);
    EXPECT_EQ(sizeof(shared<long>), sizeof(std::mutex) + 8 + 8);
  }
}

TEST(with_several, takes_and_opens_all) {
  shared<int> a(1);
  shared<std::string> b("b");
  const shared<long, std::shared_mutex> c(3);
  EXPECT_EQ(tarn::with(a, b, c,
                       [&](int& x, std::string& y, const long& z) {
                         support::worker().run([&] {
                           EXPECT_FALSE(a.try_lock());
                           EXPECT_FALSE(b.try_lock());
                           EXPECT_TRUE(c.try_lock_shared()) << "a const one is read";
                         });
                         y += std::to_string(z);
                         return x++ + static_cast<int>(z);
                       }),
            4);
  EXPECT_EQ(a.unsafe_unlocked(), 2);
  EXPECT_TRUE(a.try_lock());
  EXPECT_THROW(tarn::with(a, b, [](int&, std::string&) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_TRUE(a.try_lock());
  EXPECT_TRUE(b.try_lock());
}

TEST(with_several, many_threads_may_name_them_in_any_order) {
  shared<long> a(0), b(0), c(0);
  const auto add = [](long& x, long& y, long& z) { ++x, ++y, ++z; };
  std::vector<std::thread> running;
  for (int thread = 0; thread < 6; ++thread) {
    running.emplace_back([&, thread] {
      for (int round = 0; round < 500; ++round) {
        switch (thread) {
          case 0: tarn::with(a, b, c, add); break;
          case 1: tarn::with(c, b, a, add); break;
          case 2: tarn::with(b, c, a, add); break;
          case 3: tarn::with(c, a, b, add); break;
          case 4: tarn::with(a, c, [](long& x, long& z) { ++x, ++z; }), b.with([](long& y) { ++y; }); break;
          case 5: tarn::with(std::as_const(a), std::as_const(b), [](long, long) {}); break;
        }
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(a.unsafe_unlocked(), 2500);
  EXPECT_EQ(b.unsafe_unlocked(), 2500);
  EXPECT_EQ(c.unsafe_unlocked(), 2500);
}

/// A mutex whose first try_lock fails.
struct busy_mutex : logged_mutex {
  bool try_lock() { return std::exchange(is_busy, false) ? (note('-'), false) : logged_mutex::try_lock(); }
  static inline bool is_busy = true;
};

TEST(with_several, opens_what_it_has_before_it_waits) {
  shared<int, busy_mutex> pair_of_locks[2];
  logged_mutex::take_log();
  tarn::with(pair_of_locks[0], pair_of_locks[1], [](int&, int&) { EXPECT_EQ(logged_mutex::take_log(), "L-uLt"); });
  EXPECT_EQ(logged_mutex::take_log(), "uu");
}

TEST(with_several, the_same_twice_is_a_fault) {
  static shared<int> single;
  const support::ending child_ending = support::in_child([] { tarn::with(single, single, [](int&, int&) {}); });
  const std::string location = "shared.cpp:" + std::to_string(__LINE__ - 1);
  EXPECT_EQ(child_ending, support::fault("tarn: with() at " + location + ": the object at " +
                                         support::written(&single) + " is given twice: pass each object once"));
}

#if TARN_CHECKS
TEST(shared, an_empty_handle_is_a_fault) {
  logged text("abc");
  EXPECT_EQ(support::in_child([&] {
              logged_mutex::must_refuse = true;
              auto handle = text.try_lock();
              handle->clear();
            }),
            support::fault("tarn: an empty handle of tarn::shared was used: test it first, as in if (handle)"));
}
#endif

TEST(shared, copies_and_exchanges_its_value) {
  tarn::shared<std::vector<int>> numbers(std::vector<int>{1, 2});
  EXPECT_EQ(std::as_const(numbers).copy(), (std::vector<int>{1, 2}));
  std::vector<int> swapped;
  numbers.swap(swapped);
  EXPECT_EQ(swapped, (std::vector<int>{1, 2}));
  EXPECT_TRUE(numbers.copy().empty());
}

}  // namespace
