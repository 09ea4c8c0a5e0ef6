// Coroutines wait for a lock: tests their order, their cancellation, and the thread that resumes them.
#include <tarn/async_shared.hpp>
#include <tarn/shared.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/child.hpp"

namespace {

using support::in_child;
using tarn::async_handle;
using tarn::async_shared;

// Runs at once, and destroys itself at its end.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};
// Runs at once, with a frame that somebody else destroys.
struct owned_coroutine {
  struct promise_type {
    owned_coroutine get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> frame;
};

constexpr int append_line = __LINE__ + 2;  // of the lock in append
detached append(async_shared<std::string>& text, char letter, async_handle<std::string>* keep = nullptr) {
  auto handle = co_await text.lock();
  *handle += letter;
  if (keep != nullptr) *keep = std::move(handle);
}

TEST(async_shared, hands_the_lock_on_in_the_order_of_arrival) {
  async_shared<std::string> text;
  async_handle<std::string> own_handle;
  append(text, 'a', &own_handle);
  EXPECT_TRUE(own_handle);
  EXPECT_FALSE(text.try_lock());
  for (const char letter : {'b', 'c', 'd'}) append(text, letter);
  EXPECT_EQ(*own_handle, "a") << "they wait, and this thread goes on";
  own_handle.unlock();
  EXPECT_FALSE(own_handle);
  EXPECT_EQ(*text.try_lock(), "abcd");
}

detached call(async_shared<int>& number, int& result) {
  result = co_await number.with([](int& n) { return ++n; });
  co_await number.with([](int& n) { ++n; });
  try {
    co_await number.with([](int&) -> int { throw std::runtime_error("no"); });
  } catch (const std::runtime_error&) {
    result *= 10;
  }
}

TEST(async_shared, calls_a_function_under_the_lock) {
  async_shared<int> number(1);
  int result = 0;
  call(number, result);
  EXPECT_EQ(result, 20);
  EXPECT_EQ(*number.try_lock(), 3) << "and an exception opens it";
}

detached wait(async_shared<int>& number, std::stop_token stop, int& result) {
  const auto handle = co_await number.lock(stop);
  result = handle ? 1 : 2;
}

TEST(async_shared, a_wait_is_cancelled) {
  async_shared<int> number;
  std::stop_source early_stop, now, late_stop;
  int results[4] = {};
  early_stop.request_stop();
  wait(number, early_stop.get_token(), results[0]);
  EXPECT_EQ(results[0], 2) << "before it began";
  auto handle = number.try_lock();
  wait(number, now.get_token(), results[1]);
  wait(number, late_stop.get_token(), results[2]);
  wait(number, now.get_token(), results[3]);
  EXPECT_EQ(results[1], 0);
  now.request_stop();
  EXPECT_EQ(results[1], 2);
  EXPECT_EQ(results[3], 2);
  EXPECT_EQ(results[2], 0) << "the others wait on";
  handle.unlock();
  EXPECT_EQ(results[2], 1);
  late_stop.request_stop();
  EXPECT_EQ(results[2], 1);
  EXPECT_TRUE(number.try_lock());
}

detached add_unless_stopped(async_shared<int>& number, std::stop_token stop, int& result) {
  const bool is_added = co_await number.with([](int& n) { ++n; }, stop);
  result = is_added ? 1 : 2;
}

TEST(async_shared, a_wait_of_with_is_cancelled) {
  async_shared<int> number(0);
  std::stop_source now, never;
  int results[3] = {};
  auto handle = number.try_lock();
  add_unless_stopped(number, now.get_token(), results[0]);
  add_unless_stopped(number, never.get_token(), results[1]);
  EXPECT_EQ(results[0], 0);
  now.request_stop();
  EXPECT_EQ(results[0], 2);
  EXPECT_EQ(results[1], 0);
  handle.unlock();
  EXPECT_EQ(results[1], 1);
  add_unless_stopped(number, now.get_token(), results[2]);
  EXPECT_EQ(results[2], 2) << "stopped before it began";
  EXPECT_EQ(*number.try_lock(), 1);
}

owned_coroutine wait_owned(async_shared<int>& number, bool& has_lock) {
  const auto handle = co_await number.lock();
  has_lock = true;
}

TEST(async_shared, a_coroutine_is_destroyed_while_it_waits) {
  async_shared<int> number;
  bool has_first = false, has_second = false;
  auto handle = number.try_lock();
  const owned_coroutine first_waiting = wait_owned(number, has_first), two = wait_owned(number, has_second);
  first_waiting.frame.destroy();
  handle.unlock();
  EXPECT_FALSE(has_first);
  EXPECT_TRUE(has_second);
  two.frame.destroy();
  EXPECT_TRUE(number.try_lock());
}

detached count(async_shared<long>& number) { ++*co_await number.lock(); }

TEST(async_shared, many_waiters_need_no_deep_stack) {
  async_shared<long> number(0);
  auto handle = number.try_lock();
  for (int waiter = 0; waiter < 100'000; ++waiter) count(number);
  handle.unlock();
  EXPECT_EQ(*number.try_lock(), 100'000);
}

// An executor of one thread.
class loop {
 public:
  void post(std::coroutine_handle<> next) {
    const std::lock_guard hold(mutex_);
    ready_.push_back(next);
    changed_.notify_one();
  }
  void run() {
    for (;;) {
      std::unique_lock hold(mutex_);
      changed_.wait(hold, [&] { return !ready_.empty(); });
      const std::coroutine_handle<> next = ready_.front();
      ready_.pop_front();
      hold.unlock();
      if (!next) return;
      next.resume();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::coroutine_handle<>> ready_;
};
struct hop {
  loop& target;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) const { target.post(coroutine); }
  void await_resume() const noexcept {}
};

struct shared_count {
  long value = 0;
  std::atomic<int> holders{0};
};

detached work(async_shared<shared_count>& count, loop& own_loop, int rounds, std::atomic<int>& left, loop& ends) {
  co_await hop{own_loop};
  const auto own_thread = std::this_thread::get_id();
  for (int round = 0; round < rounds; ++round) {
    std::stop_source stop;
    std::thread canceller;
    if (round % 64 == 0) canceller = std::thread([&] { stop.request_stop(); });
    {
      auto handle = co_await count.lock([&](std::coroutine_handle<> next) { own_loop.post(next); }, stop.get_token());
      if (handle) {
        EXPECT_EQ(handle->holders.fetch_add(1), 0);
        if (round % 8 == 0) co_await hop{own_loop};  // the lock is held over a suspension
        ++handle->value;
        handle->holders.fetch_sub(1);
      } else {
        --round;
      }
    }
    if (round % 16 == 1) {
      EXPECT_EQ(own_thread, std::this_thread::get_id());
    }
    co_await hop{own_loop};
    if (canceller.joinable()) canceller.join();
  }
  if (--left == 0) ends.post({});
}

TEST(async_shared, threads_share_it_and_each_coroutine_goes_on_in_its_own) {
  constexpr int threads = 3, coroutines = 4, rounds = 300;
  async_shared<shared_count> count;
  loop loops[threads], main_loop;
  std::atomic<int> left{threads * coroutines};
  for (loop& own_loop : loops) {
    for (int coroutine = 0; coroutine < coroutines; ++coroutine) work(count, own_loop, rounds, left, main_loop);
  }
  std::vector<std::thread> runners;
  for (loop& started_loop : loops) runners.emplace_back([&started_loop] { started_loop.run(); });
  main_loop.run();
  for (loop& ended_loop : loops) ended_loop.post({});
  for (std::thread& thread : runners) thread.join();
  EXPECT_EQ(count.try_lock()->value, threads * coroutines * rounds);
}

#if TARN_CHECKS
std::string site(const char* text, int line) { return text + std::string("async_shared.cpp:") + std::to_string(line); }
std::string named(const char* name, const async_shared<int>& object) {
  return "async_shared \"" + std::string(name) + "\" at " + support::written(&object);
}

TEST(async_shared, is_not_waited_for_while_a_shared_is_locked) {
  tarn::shared<int> plain(tarn::rank{0, "plain"});
  async_shared<std::string> text;
  const int line = __LINE__ + 2;
  const auto child_ending = in_child([&] {
    const auto handle = plain.lock();
    append(text, 'a');
  });
  EXPECT_EQ(
      child_ending,
      support::fault("tarn: async_shared at " + support::written(&text) + site(" is waited for at ", append_line) +
                     " while shared \"plain\" at " + support::written(&plain) + site(" is held, since ", line) +
                     ": it would stay locked while the coroutine is suspended; end the handle before co_await"));
}

constexpr int both_line = __LINE__ + 2;  // of the first lock in take_both
detached take_both(async_shared<int>& first, async_shared<int>& second) {
  const auto handle = co_await first.lock();
  ++*co_await second.lock();
}

TEST(async_shared, two_orders_are_a_fault_although_nobody_waits) {
  async_shared<int> first(tarn::rank{0, "first"}, 0), second(tarn::rank{0, "second"}, 0);
  take_both(first, second);
  take_both(first, second);
  const auto child_ending = in_child([&] { take_both(second, first); });
  const std::string first_lock = named("first", first);
  const std::string second_lock = named("second", second);
  EXPECT_EQ(child_ending,
            support::fault("tarn: lock order: " + first_lock + site(" is locked at ", both_line + 1) + " while " +
                           second_lock + site(" is held, since ", both_line) + "; but before, " + second_lock +
                           site(" was locked at ", both_line + 1) + " while " + first_lock +
                           site(" was held, since ", both_line) + ": take them in one order"));
}

TEST(async_shared, its_levels_rise) {
  async_shared<int> low(tarn::rank{1, "low"}, 0), high(tarn::rank{2, "high"}, 0);
  take_both(low, high);
  const auto child_ending = in_child([&] { take_both(high, low); });
  EXPECT_EQ(child_ending,
            support::fault("tarn: lock rank: " + named("low", low) + " of level 1" +
                           site(" is locked at ", both_line + 1) + " while " + named("high", high) + " of level 2" +
                           site(" is held, since ", both_line) + ": take the lock of the lower level first"));
}

TEST(async_shared, its_holder_does_not_wait_for_it) {
  async_shared<int> number(0);
  const auto child_ending = in_child([&] { take_both(number, number); });
  EXPECT_EQ(child_ending,
            support::fault("tarn: lock twice: " + named("", number) + site(" is locked at ", both_line + 1) +
                           site(" by the coroutine that holds it since ", both_line) +
                           ": use the first handle, or end it before"));
}

TEST(async_shared, a_handle_that_was_moved_has_no_known_holder) {
  async_shared<std::string> first, second;
  for (int turn = 0; turn < 2; ++turn) {  // frames of the second turn have the addresses of the first one
    async_handle<std::string> own_handle, second_handle;
    append(turn == 0 ? first : second, 'a', &own_handle);
    append(turn == 0 ? second : first, 'a', &second_handle);
  }
  EXPECT_EQ(*first.try_lock(), "aa");
}

TEST(async_shared, is_not_destroyed_while_it_is_locked) {
  auto* const text = new async_shared<std::string>;
  const auto child_ending = in_child([text] {
    auto* const handle = new async_handle<std::string>(text->try_lock());
    delete text;
    delete handle;
  });
  EXPECT_EQ(child_ending, support::fault("tarn: async_shared at " + support::written(text) +
                                         " is destroyed while it is locked: end all handles before the object"));
  delete text;
}
#endif

}  // namespace
