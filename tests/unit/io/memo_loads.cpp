// Loads of a memo in progress: threads that join them, changes that overtake them, nested loads, and forks.
#include <tarn/io/memo.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tarn::io::memo;

// The program writes the row and then invalidates the answer, while a load that read the old row is still under way.
class memo_during_a_load : public testing::Test {
 protected:
  int row_ = 1;
  int loads_ = 0;
  std::function<void()> meanwhile_;
  memo<int, int> answers_{[this](const int&) {
    ++loads_;
    const int row = row_;
    if (const auto interruption = std::exchange(meanwhile_, nullptr)) interruption();
    return row;
  }};
};

TEST_F(memo_during_a_load, forget_keeps_the_older_answer_from_being_remembered) {
  meanwhile_ = [this] {
    row_ = 2;
    EXPECT_FALSE(answers_.forget(7));
  };
  EXPECT_EQ(answers_.get(7), 1) << "who asked before the change is answered";
  EXPECT_FALSE(answers_.peek(7));
  EXPECT_EQ(answers_.get(7), 2);
  EXPECT_EQ(answers_.get(7), 2);
  EXPECT_EQ(loads_, 2);
}

TEST_F(memo_during_a_load, clear_keeps_the_older_answer_from_being_remembered) {
  meanwhile_ = [this] {
    row_ = 2;
    answers_.clear();
  };
  EXPECT_EQ(answers_.get(7), 1);
  EXPECT_FALSE(answers_.peek(7));
  EXPECT_EQ(answers_.get(7), 2);
}

TEST_F(memo_during_a_load, put_is_not_overwritten_by_the_older_answer) {
  meanwhile_ = [this] { answers_.put(7, row_ = 2); };
  EXPECT_EQ(answers_.get(7), 1);
  EXPECT_EQ(answers_.get(7), 2);
  EXPECT_EQ(loads_, 1);
  EXPECT_TRUE(answers_.forget(7));
  meanwhile_ = [this] { answers_.put(7, row_ = 3, 0); };
  EXPECT_EQ(answers_.get(7), 2);
  EXPECT_EQ(answers_.get(7), 3);
}

TEST_F(memo_during_a_load, who_asks_after_forget_does_not_wait_for_the_older_answer) {
  meanwhile_ = [this] {
    row_ = 2;
    answers_.forget(7);
    std::thread([this] { EXPECT_EQ(answers_.get(7), 2); }).join();
  };
  EXPECT_EQ(answers_.get(7), 1);
  EXPECT_EQ(answers_.get(7), 2) << "the older answer came later";
  EXPECT_EQ(loads_, 2);
}

TEST_F(memo_during_a_load, forget_leaves_loads_of_other_keys_alone) {
  meanwhile_ = [this] {
    row_ = 2;
    answers_.forget(8);
    answers_.put(9, 9);
  };
  EXPECT_EQ(answers_.get(7), 1);
  EXPECT_EQ(answers_.get(7), 1);
  EXPECT_EQ(loads_, 1);
}

std::atomic<std::uint64_t> refresh_clock;
std::uint64_t time_of_refresh() noexcept { return refresh_clock.load(); }

TEST(memo, a_refresh_that_is_overtaken_by_put_is_not_remembered) {
  std::function<void()> meanwhile;
  memo<int, int> answers(
      [&](const int&) {
        if (meanwhile) meanwhile();
        return 1;
      },
      {.ttl_ms = 100, .refresh_ms = 20, .now_ms = time_of_refresh});
  refresh_clock = 1000;
  EXPECT_EQ(answers.get(7), 1);
  refresh_clock = 1090;
  meanwhile = [&] { answers.put(7, 2); };
  EXPECT_EQ(answers.get(7), 1);
  EXPECT_EQ(answers.get(7), 2);
}

TEST(memo, a_hundred_threads_make_one_call) {
  std::atomic<int> loads{0}, waiting{0};
  memo<int, std::string> answers([&](const int& key) {
    ++loads;
    while (waiting < 100) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::to_string(key);
  });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 100; ++thread) {
    threads.emplace_back([&] {
      ++waiting;
      right += answers.get(42) == std::to_string(42);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(right, 100);
  const auto statistics = answers.statistics();
  EXPECT_EQ(statistics.loads, 1u);
  EXPECT_EQ(statistics.shared_loads + statistics.hits, 99u);
}

TEST(memo, other_keys_do_not_wait) {
  memo<int, int> answers(
      [&](const int& key) {
        if (key == 0) {
          int answer = 0;  // another thread asks in the same shard while this question is open
          std::thread([&] { answer = *answers.get(1); }).join();
          return answer;
        }
        return key;
      },
      {.shards = 1});
  EXPECT_EQ(answers.get(0), 1);
}

TEST(memo, what_a_loader_throws_everyone_gets_and_nobody_remembers) {
  std::atomic<int> loads{0}, waiting{0};
  memo<int, int> answers([&](const int& key) {
    if (++loads > 1) return key;
    while (waiting < 8) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    throw std::runtime_error("the network is down");
  });
  std::vector<std::thread> threads;
  std::atomic<int> failed{0}, answered{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      ++waiting;
      try {
        answered += answers.get(7) == 7;
      } catch (const std::runtime_error&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(failed, 1);
  EXPECT_EQ(failed + answered, 8);
  EXPECT_EQ(answers.get(7), 7) << "asked again";
  EXPECT_EQ(answers.statistics().failures, 1u);
}

TEST(memo, a_loader_that_asks_for_its_own_key_is_told_so) {
  memo<int, int>* self = nullptr;
  memo<int, int> answers([&](const int& key) { return key < 10 ? *self->get(key + 1) + 1 : key; });
  self = &answers;
  EXPECT_EQ(answers.get(0), 20) << "other keys may be asked for";
  memo<int, int> circle([&](const int& key) { return self->get(key); });
  self = &circle;
  try {
    circle.get(1);
    FAIL() << "it waits for itself";
  } catch (const std::logic_error& thrown) {
    EXPECT_STREQ(thrown.what(),
                 "tarn::io::memo: a loader asks for its own key: let it load the answer without the memo");
  }
}

// Each thread's loader asks for the key of the next thread, in another memo, when all of them are at work.
TEST(memo, loaders_that_would_wait_for_each_other_are_told_so) {
  constexpr int askers = 3;
  std::atomic<int> begun{0}, refused{0};
  memo<int, int>* memos[2] = {};
  const auto load = [&](const int& key) {
    ++begun;
    while (begun < askers) std::this_thread::yield();
    const int next = (key + 1) % askers;
    return memos[next % 2]->get(next);
  };
  memo<int, int> even(load), odd(load);
  memos[0] = &even, memos[1] = &odd;
  std::vector<std::thread> threads;
  for (int key = 0; key < askers; ++key) {
    threads.emplace_back([&, key] {
      try {
        memos[key % 2]->get(key);
      } catch (const std::logic_error& thrown) {
        EXPECT_STREQ(thrown.what(),
                     "tarn::io::memo: loaders wait for each other's answers: let one of them load without the memo");
        ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, askers) << "one closes the circle, and the others get what it throws";
}

TEST(memo, loaders_may_wait_in_a_row) {
  std::atomic<bool> may_end{false};
  memo<int, int>* self = nullptr;
  memo<int, int> answers(
      [&](const int& key) {
        if (key != 0) return *self->get(key - 1) + 1;
        while (!may_end) std::this_thread::yield();
        return 0;
      },
      {.shards = 1});
  self = &answers;
  std::vector<std::thread> threads;
  for (int key = 0; key < 4; ++key) {
    threads.emplace_back([&, key] { EXPECT_EQ(answers.get(key), key); });
    while (answers.statistics().loads != static_cast<std::uint64_t>(key) + 1 ||
           answers.statistics().shared_loads != static_cast<std::uint64_t>(key)) {
      std::this_thread::yield();
    }
  }
  may_end = true;
  for (std::thread& thread : threads) thread.join();
}

// Asks in a child of this process, which has other threads. Returns the child's status.
template <class Body>
int status_of_fork(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(memo, a_forked_child_asks_itself_what_another_thread_was_asking) {
  const pid_t parent = getpid();
  std::atomic<bool> is_asked{false}, may_end{false};
  memo<int, int> answers([&](const int&) {
    if (getpid() != parent) return 2;
    is_asked = true;
    while (!may_end) std::this_thread::yield();
    return 1;
  });
  std::thread asking([&] { EXPECT_EQ(answers.get(7), 1); });
  while (!is_asked) std::this_thread::yield();
  EXPECT_EQ(status_of_fork([&] { return answers.get(7) == 2 && answers.get(7) == 2 ? 0 : 1; }), 0);
  may_end = true;
  asking.join();
  EXPECT_EQ(answers.get(7), 1);
}

// The thread that forks in a loader lives on in the child, and asks there, too.
TEST(memo, a_loader_that_forks_is_told_of_its_own_key_in_the_child_too) {
  memo<int, int>* self = nullptr;
  std::atomic<bool> may_end{false};
  memo<int, int> answers([&](const int& key) {
    const auto ask_for_the_same = [&] {
      try {
        self->get(key);
      } catch (const std::logic_error&) {
        return 0;
      }
      return 1;
    };
    return status_of_fork(ask_for_the_same);
  });
  self = &answers;
  std::thread another([&] {  // a process of one thread takes no locks around a fork
    while (!may_end) std::this_thread::yield();
  });
  EXPECT_EQ(answers.get(7), 0);
  may_end = true;
  another.join();
}

#if !defined(__SANITIZE_ADDRESS__)  // its allocator keeps a lock in the child that another thread held at the fork
TEST(memo, a_child_uses_every_shard_although_threads_were_in_the_middle_of_changes) {
  memo<int, int> answers([](const int& key) { return key; }, {.entries = 64, .shards = 4});
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int key = thread; !is_over; ++key) {
        answers.put(key % 200, key % 200);
        answers.forget((key + 100) % 200);
      }
    });
  }
  for (int turn = 0; turn < 40; ++turn) {
    ASSERT_EQ(status_of_fork([&] {
                for (int key = 0; key < 200; ++key) {
                  if (answers.get(key) != key) return 1;
                  answers.put(key, key + 1);
                  if (answers.get(key) != key + 1) return 2;
                }
                answers.clear();
                return answers.statistics().entries == 0 ? 0 : 3;
              }),
              0);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}
#endif

}  // namespace
