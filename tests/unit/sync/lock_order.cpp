// Lock orders that can deadlock are reported at their first inversion, with every location. Here one thread takes all
// of them, so nobody ever waits.
#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include <tarn/spin_mutex.hpp>
#include <tarn/with.hpp>

#include "support/child.hpp"
#include "support/worker.hpp"

#if TARN_CHECKS

namespace {

using support::fault;
using support::in_child;
using support::named_thread;
using support::without_thread_numbers;
using support::written;
using tarn::rank;
using tarn::shared;

template <class Shared>
std::string text(const char* name, const Shared& object) {
  return "shared \"" + std::string(name) + "\" at " + written(&object);
}
std::string at_line(unsigned line) { return " at lock_order.cpp:" + std::to_string(line); }
std::string since(unsigned line) { return ", since lock_order.cpp:" + std::to_string(line); }
const std::string cure = ": take them in one order, or together by tarn::with";

struct locks {
  shared<int> a{rank{0, "a"}}, b{rank{0, "b"}}, c{rank{0, "c"}};
};

/// Holds a handle that can be kept anywhere.
struct kept_handle {
  static constexpr unsigned line = __LINE__ + 1;
  explicit kept_handle(shared<int>& lock) : handle(lock.lock()) {}
  shared<int>::handle handle;
};

TEST(lock_order, two_locks_in_two_orders_are_a_fault) {
  locks tested;
  constexpr unsigned line = __LINE__;
  const auto child_ending = in_child([&] {
    {
      auto a = tested.a.lock();
      auto b = tested.b.lock();
    }
    auto b = tested.b.lock();
    auto a = tested.a.lock();
  });
  EXPECT_EQ(child_ending, fault("tarn: lock order: " + text("a", tested.a) + " is locked" + at_line(line + 7) +
                                " while " + text("b", tested.b) + " is held" + since(line + 6) + "; but before, " +
                                text("b", tested.b) + " was locked" + at_line(line + 4) + " while " +
                                text("a", tested.a) + " was held" + since(line + 3) + cure));
}

TEST(lock_order, three_locks_in_a_circle_by_three_threads_are_a_fault) {
  locks tested;
  constexpr unsigned line = __LINE__;
  const auto child_ending = in_child([&] {
    support::worker().run([&] { tested.a.with([&](int&) { tested.b.with([](int&) {}); }); });
    support::worker().run([&] { tested.b.with([&](int&) { tested.c.with([](int&) {}); }); });
    tested.c.with([&](int&) { tested.a.with([](int&) {}); });
  });
  EXPECT_EQ(child_ending,
            fault("tarn: lock order: " + text("a", tested.a) + " is locked" + at_line(line + 4) + " while " +
                  text("c", tested.c) + " is held" + since(line + 4) + "; but before, " + text("b", tested.b) +
                  " was locked" + at_line(line + 2) + " while " + text("a", tested.a) + " was held" + since(line + 2) +
                  "; and " + text("c", tested.c) + " was locked" + at_line(line + 3) + " while " + text("b", tested.b) +
                  " was held" + since(line + 3) + cure));
}

TEST(lock_order, readers_count) {
  shared<int, std::shared_mutex> a(rank{0, "a"}), b(rank{0, "b"});
  EXPECT_EQ(in_child([&] {
              a.read([&](int) { b.read([](int) {}); });
              b.read([&](int) { a.with([](int&) {}); });
            }).signal,
            SIGABRT);
}

TEST(lock_order, waiting_takes_the_lock_again) {
  locks tested;
  constexpr unsigned line = __LINE__;
  const auto child_ending = in_child([&] {
    auto a = tested.a.lock();
    auto b = tested.b.lock();
    static_cast<void>(a.wait_for(std::chrono::milliseconds(1), [](int) { return false; }));
  });
  EXPECT_EQ(child_ending, fault("tarn: lock order: " + text("a", tested.a) + " is locked" + at_line(line + 4) +
                                " while " + text("b", tested.b) + " is held" + since(line + 3) + "; but before, " +
                                text("b", tested.b) + " was locked" + at_line(line + 3) + " while " +
                                text("a", tested.a) + " was held" + since(line + 2) + cure));
}

TEST(lock_order, with_takes_several_in_any_order) {
  locks tested;
  for (int round = 0; round < 2; ++round) {
    tarn::with(tested.a, tested.b, tested.c, [](int&, int&, int&) {});
    tarn::with(tested.c, tested.b, tested.a, [](int&, int&, int&) {});
    tested.a.with([&](int&) { tarn::with(tested.b, tested.c, [](int&, int&) {}); });
  }
  EXPECT_EQ(in_child([&] { tested.b.with([&](int&) { tarn::with(tested.c, tested.a, [](int&, int&) {}); }); }).signal,
            SIGABRT);
}

TEST(lock_order, tries_cannot_deadlock) {
  locks tested;
  for (int round = 0; round < 2; ++round) {
    auto a = tested.a.lock();
    auto b = tested.b.try_lock();
    EXPECT_TRUE(b);
  }
  auto b = tested.b.lock();
  auto a = tested.a.try_lock();
  EXPECT_TRUE(a);
}

TEST(lock_order, a_lock_that_is_gone_is_forgotten) {
  shared<int> parent(rank{0, "parent"});
  for (int round = 0; round < 100; ++round) {
    shared<int, tarn::spin_mutex> child;  // at the same place each time
    if (round % 2 == 0) {
      parent.with([&](int&) { child.with([](int&) {}); });
    } else {
      child.with([&](int&) { parent.with([](int&) {}); });
    }
  }
}

TEST(lock_order, levels_must_rise) {
  shared<int> low(rank{1, "low"}), high(rank{2, "high"}), other_high(rank{2, "other"}), outside(rank{0, "outside"});
  low.with([&](int&) { high.with([&](int&) { outside.with([](int&) {}); }); });
  constexpr unsigned line = __LINE__;
  const auto lower = in_child([&] {
    auto handle = high.lock();
    low.with([](int&) {});
  });
  const auto same_level = in_child([&] {
    auto handle = high.lock();
    tarn::with(outside, other_high, [](int&, int&) {});
  });
  EXPECT_EQ(lower, fault("tarn: lock rank: " + text("low", low) + " of level 1 is locked" + at_line(line + 3) +
                         " while " + text("high", high) + " of level 2 is held" + since(line + 2) +
                         ": take the lock of the lower level first"));
  EXPECT_EQ(same_level, fault("tarn: lock rank: " + text("other", other_high) + " of level 2 is locked" +
                              at_line(line + 7) + " while " + text("high", high) + " of level 2 is held" +
                              since(line + 6) + ": take the lock of the lower level first"));
}

TEST(lock_order, a_lock_that_its_holder_wants_again_is_a_fault) {
  shared<int> single(rank{0, "one"});
  constexpr unsigned line = __LINE__;
  const auto child_ending = in_child([&] {
    auto handle = single.lock();
    [](shared<int>& opened) { opened.with([](int&) {}); }(single);
  });
  EXPECT_EQ(child_ending, fault("tarn: lock twice: " + text("one", single) + " is locked" + at_line(line + 3) +
                                " by the thread that holds it since lock_order.cpp:" + std::to_string(line + 2) +
                                ": use the first handle, or end it before"));
}

TEST(lock_order, a_handle_stays_with_its_thread) {
  shared<int> single(rank{0, "one"});
  const auto child_ending = in_child([&] {
    auto* const escaped = new kept_handle(single);
    std::thread([&] { delete escaped; }).join();
  });
  EXPECT_EQ(without_thread_numbers(child_ending),
            fault("tarn: " + text("one", single) + " is unlocked by " + named_thread() +
                  ", which does not hold it: a handle stays with its thread, and is not kept over a co_await"));
}

TEST(lock_order, a_shared_that_is_destroyed_while_it_is_locked_is_a_fault) {
  auto* const single = new shared<int>(rank{0, "one"});
  const auto child_ending = in_child([&] {
    auto* const escaped = new kept_handle(*single);
    delete single;
    delete escaped;
  });
  EXPECT_EQ(without_thread_numbers(child_ending),
            fault("tarn: " + text("one", *single) + " is destroyed by " + named_thread() +
                  " while it is locked: end all handles before the object"));
  delete single;
}

TEST(lock_order, a_shared_that_is_destroyed_while_a_thread_waits_for_it_is_a_fault) {
  auto* const single = new shared<int>(rank{0, "one"});
  const auto child_ending = in_child([&] {
    std::atomic<bool> has_looked{false};
    std::thread waiting(
        [&] { single->with_when([&](int number) { return has_looked = true, number != 0; }, [](int&) {}); });
    while (!has_looked) std::this_thread::yield();
    single->with([](int&) {});  // the thread looks under the lock, and opens it to wait
    delete single;
    _exit(0);
  });
  EXPECT_EQ(without_thread_numbers(child_ending),
            fault("tarn: " + text("one", *single) + " is destroyed by " + named_thread() +
                  " while another thread waits for it: end the waits before the object"));
  delete single;
}

TEST(lock_order, a_thread_that_ends_with_a_lock_is_a_fault) {
  shared<int> single(rank{0, "one"});
  const auto child_ending = in_child([&] {
    std::thread([&] {
      static kept_handle* const never_deleted = new kept_handle(single);
      static_cast<void>(never_deleted);
    }).join();
  });
  EXPECT_EQ(without_thread_numbers(child_ending),
            fault("tarn: " + named_thread() + " exits while holding " + text("one", single) + ", locked" +
                  at_line(kept_handle::line) + ": end each handle before its thread"));
}

TEST(lock_order, handles_in_thread_locals_end_in_time) {
  shared<int> single(rank{0, "one"});
  std::thread([&] {
    single.with([](int&) {});
    static thread_local kept_handle handle_of_thread(single);
    *handle_of_thread.handle = 1;
  }).join();
  EXPECT_TRUE(single.try_lock());
}

TEST(lock_order, more_locks_than_are_watched_may_be_held) {
  using spinning = shared<int, tarn::spin_mutex>;  // ThreadSanitizer knows 64 held locks at most
  std::deque<spinning> locks_by_number(100);
  struct box {
    explicit box(spinning& lock) : handle(lock.lock()) {}
    spinning::handle handle;
  };
  std::deque<box> handles;
  for (spinning& lock : locks_by_number) handles.emplace_back(lock);
}

// The lock graph is consistent in a child that a thread forks while other threads take locks.
TEST(lock_order, a_forked_child_goes_on) {
  locks tested;
  support::worker second_thread;
  EXPECT_EQ(in_child([&] {
              tested.a.with([&](int&) { tested.b.with([](int&) {}); });
              return 7;
            }).status,
            7);
}

}  // namespace

#endif
