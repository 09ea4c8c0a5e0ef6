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
  void lock() { note('L'), held = true; }
  bool try_lock() { return note('t'), !refuse && (held = true); }
  void unlock() { note('u'), held = false; }
  void lock_shared() { note('S'), held = true; }
  bool try_lock_shared() { return note('s'), !refuse && (held = true); }
  void unlock_shared() { note('U'), held = false; }
  static void note(char letter) { log += letter; }
  static std::string taken() { return std::exchange(log, ""); }
  static inline std::string log;
  static inline bool held = false, refuse = false;
};
using logged = shared<std::string, logged_mutex>;

TEST(shared, with_holds_the_lock_and_gives_the_result) {
  logged text("abc");
  EXPECT_EQ(text.with([](std::string& s) {
    EXPECT_TRUE(logged_mutex::held);
    s += "d";
    return s.size();
  }),
            4u);
  EXPECT_EQ(logged_mutex::taken(), "Lu");
  text.with([](std::string& s) { s.clear(); });
  EXPECT_EQ(logged_mutex::taken(), "Lu");
}

TEST(shared, readers_take_the_lock_of_readers) {
  const logged text("abc");
  EXPECT_EQ(text.with([](const std::string& s) { return s; }), "abc");
  EXPECT_EQ(text.read(&std::string::size), 3u);
  const auto held = text.lock_shared();
  EXPECT_EQ(held->size(), 3u);
  EXPECT_EQ(logged_mutex::taken(), "SUSUS");
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
  logged_mutex::taken();
  {
    auto held = text.lock();
    held->append("d");
    *held += "e";
    EXPECT_EQ(std::as_const(held)->size(), 5u);
    EXPECT_EQ(logged_mutex::taken(), "L");
  }
  EXPECT_EQ(logged_mutex::taken(), "u");
}

TEST(shared, tries_hold_nothing_when_they_fail) {
  logged text("abc");
  {
    auto held = text.try_lock();
    ASSERT_TRUE(held);
    held->clear();
  }
  EXPECT_EQ(logged_mutex::taken(), "tu");
  logged_mutex::refuse = true;
  EXPECT_FALSE(text.try_lock());
  EXPECT_FALSE(text.try_lock_shared());
  logged_mutex::refuse = false;
  EXPECT_EQ(logged_mutex::taken(), "ts");
}

/// Replaces std::timed_mutex: ThreadSanitizer of GCC 12 does not know the call that it makes.
struct patient_mutex : std::mutex {
  template <class Duration>
  bool try_lock_for(Duration duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    while (!try_lock()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }
};

TEST(shared, tries_end_at_their_time) {
  shared<int, patient_mutex> number(1);
  support::worker second_thread;
  {
    auto held = number.lock();
    second_thread.run([&] { EXPECT_FALSE(number.try_lock_for(std::chrono::milliseconds(1))); });
  }
  second_thread.run([&] {
    auto held = number.try_lock_for(std::chrono::minutes(10));
    ASSERT_TRUE(held);
    *held = 2;
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
  EXPECT_EQ(logged_mutex::taken(), "Lu");
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
  for (std::thread& thread : running) {
    thread.join();
  }
  EXPECT_EQ(a.unsafe_unlocked(), 2500);
  EXPECT_EQ(b.unsafe_unlocked(), 2500);
  EXPECT_EQ(c.unsafe_unlocked(), 2500);
}

/// A mutex whose first try_lock fails.
struct busy_mutex : logged_mutex {
  bool try_lock() { return std::exchange(busy, false) ? (note('-'), false) : logged_mutex::try_lock(); }
  static inline bool busy = true;
};

TEST(with_several, opens_what_it_has_before_it_waits) {
  shared<int, busy_mutex> pair_of_locks[2];
  logged_mutex::taken();
  tarn::with(pair_of_locks[0], pair_of_locks[1], [](int&, int&) { EXPECT_EQ(logged_mutex::taken(), "L-uLt"); });
  EXPECT_EQ(logged_mutex::taken(), "uu");
}

TEST(with_several, the_same_twice_is_a_fault) {
  static shared<int> single;
  const support::ending seen = support::in_child([] { tarn::with(single, single, [](int&, int&) {}); });
  EXPECT_EQ(seen.signal, SIGABRT);
  if constexpr (TARN_CHECKS == 0) {  // with checks, the lock-order watch reports it first
    EXPECT_NE(seen.error.find("the object at " + support::written(&single) + " is given twice"), std::string::npos)
        << seen;
  }
}

#if TARN_CHECKS
TEST(shared, an_empty_handle_is_a_fault) {
  logged text("abc");
  EXPECT_EQ(support::in_child([&] {
              logged_mutex::refuse = true;
              auto held = text.try_lock();
              held->clear();
            }),
            support::fault("tarn: a handle of tarn::shared that holds nothing was used: look at it first"));
}
#endif

TEST(shared, copies_and_exchanges_its_value) {
  tarn::shared<std::vector<int>> numbers(std::vector<int>{1, 2});
  EXPECT_EQ(std::as_const(numbers).copy(), (std::vector<int>{1, 2}));
  std::vector<int> taken;
  numbers.swap(taken);
  EXPECT_EQ(taken, (std::vector<int>{1, 2}));
  EXPECT_TRUE(numbers.copy().empty());
}

}  // namespace
