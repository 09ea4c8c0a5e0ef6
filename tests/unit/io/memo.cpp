#include <tarn/io/memo.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "platform/threads.hpp"
#include "reclaim/readers.hpp"
#include "support/call_filter.h"
#include "support/child.hpp"

namespace {

using tarn::io::memo;
using tarn::io::memo_options;

std::atomic<std::uint64_t> now{1000};
std::uint64_t test_clock() noexcept { return now.load(); }

std::string answer_to(int key) { return "the answer to the question with the number " + std::to_string(key); }

TEST(memo, asks_once_and_remembers) {
  int loads = 0;
  memo<int, std::string> answers([&](const int& key) {
    ++loads;
    return answer_to(key);
  });
  for (int turn = 0; turn < 3; ++turn) {
    for (int key = 0; key < 100; ++key) EXPECT_EQ(answers.get(key), answer_to(key));
  }
  EXPECT_EQ(loads, 100);
  const auto statistics = answers.statistics();
  EXPECT_EQ(statistics.hits, 200u);
  EXPECT_EQ(statistics.loads, 100u);
  EXPECT_EQ(statistics.entries, 100u);
  EXPECT_EQ(statistics.negative_hits + statistics.failures + statistics.shared_loads + statistics.evictions +
                statistics.expirations,
            0u);
}

TEST(memo, remembers_that_there_is_none) {
  int loads = 0;
  memo<std::string, int> sizes([&](const std::string& key) {
    ++loads;
    return key.empty() ? std::nullopt : std::optional<int>(static_cast<int>(key.size()));
  });
  EXPECT_EQ(sizes.get("four"), 4);
  EXPECT_EQ(sizes.get(""), std::nullopt);
  EXPECT_EQ(sizes.get(""), std::nullopt);
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(sizes.statistics().negative_hits, 1u);
}

// One caller asks anew before the answer is too old; a failure of that is nobody's.
TEST(memo, answers_are_refreshed_before_they_are_old) {
  int loads = 0;
  bool must_fail = false;
  memo<int, int> answers(
      [&](const int&) -> std::optional<int> {
        if (must_fail) throw std::runtime_error("no answer");
        return ++loads;
      },
      {.ttl_ms = 100, .refresh_ms = 20, .now_ms = test_clock});
  now = 1000;
  EXPECT_EQ(answers.get(1), 1);
  now = 1079;
  EXPECT_EQ(answers.get(1), 1);
  now = 1080;
  EXPECT_EQ(answers.get(1), 2);  // valid until 1180
  now = 1159;
  EXPECT_EQ(answers.get(1), 2);
  must_fail = true;
  now = 1160;
  EXPECT_EQ(answers.get(1), 2) << "the old answer is valid";
  EXPECT_EQ(answers.get(1), 2);
  EXPECT_EQ(answers.statistics().failures, 1u) << "one attempt is made";
  now = 1180;
  EXPECT_THROW(answers.get(1), std::runtime_error);
  must_fail = false;
  EXPECT_EQ(answers.get(1), 3);
  const auto statistics = answers.statistics();
  EXPECT_EQ(statistics.refreshes, 2u);
  EXPECT_EQ(statistics.expirations, 1u);
  EXPECT_EQ(statistics.loads, 5u);
}

TEST(memo, others_get_the_old_answer_while_one_refreshes) {
  std::atomic<int> loads{0};
  std::atomic<bool> is_waiting{false}, may_end{false};
  memo<int, int> answers(
      [&](const int&) -> std::optional<int> {
        const int number = ++loads;
        if (number == 2) {
          is_waiting = true;
          while (!may_end) std::this_thread::yield();
        }
        return number;
      },
      {.ttl_ms = 100, .refresh_ms = 20, .now_ms = test_clock});
  now = 1000;
  EXPECT_EQ(answers.get(1), 1);
  now = 1090;
  std::thread refresher([&] { EXPECT_EQ(answers.get(1), 2); });
  while (!is_waiting) std::this_thread::yield();
  EXPECT_EQ(answers.get(1), 1);
  EXPECT_EQ(answers.get(1), 1);
  may_end = true;
  refresher.join();
  EXPECT_EQ(answers.get(1), 2);
  EXPECT_EQ(loads, 2);
}

class followed_file : public testing::Test {
 protected:
  followed_file() { now = 1000; }
  ~followed_file() override { std::filesystem::remove(path_); }
  // The file gets a time long ago, so that its stamp is settled, and another one for each version.
  void write(const std::string& text) {
    std::ofstream(path_) << text;
    const timespec times[2] = {{1000 + ++version_, 0}, {1000 + version_, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }
  std::optional<std::string> load() {
    ++loads_;
    std::ifstream file(path_);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string path_ = testing::TempDir() + "followed-" + std::to_string(getpid());
  int version_ = 0;
  int loads_ = 0;
  memo<int, std::string> texts_{[this](const int&) { return load(); },
                                {.check_ms = 50, .now_ms = test_clock},
                                {},
                                {},
                                [this](const int& key) { return key == 0 ? std::string() : path_; }};
};

TEST_F(followed_file, is_read_again_when_it_has_changed) {
  EXPECT_EQ(texts_.get(1), std::nullopt);
  write("one");
  now = 1049;
  EXPECT_EQ(texts_.get(1), std::nullopt) << "nobody looks before";
  now = 1050;
  EXPECT_EQ(texts_.get(1), "one");
  write("two");
  now = 1100;
  EXPECT_EQ(texts_.get(1), "two");
  std::filesystem::remove(path_);
  now = 1150;
  EXPECT_EQ(texts_.get(1), std::nullopt);
  EXPECT_EQ(texts_.statistics().file_changes, 3u);
}

// Kubernetes replaces a configuration so: the path leads through a link, whose replacement no watch of the file or of
// its directory sees.
TEST_F(followed_file, is_read_again_when_a_link_to_its_directory_is_replaced) {
  const std::string link = path_ + ".d", name = std::exchange(path_, link + "/file");
  EXPECT_EQ(texts_.get(1), std::nullopt) << "the directory is missing";
  for (const std::string version : {"one", "two"}) {
    std::filesystem::create_directory(link + version);
    path_ = link + version + "/file";
    write(version);
    path_ = link + "/file";
    std::filesystem::create_directory_symlink(link + version, link + ".new");
    std::filesystem::rename(link + ".new", link);
    now += 50;
    EXPECT_EQ(texts_.get(1), version);
  }
  for (const char* const end : {"", "one", "two"}) std::filesystem::remove_all(link + end);
  path_ = name;
}

// The time of the change of a file that was just written may be that of its next change, too.
TEST_F(followed_file, is_read_again_while_its_time_is_new) {
  write("one");
  EXPECT_EQ(texts_.get(1), "one");
  now = 1050;
  EXPECT_EQ(texts_.get(1), "one");
  EXPECT_EQ(loads_, 2);
}

TEST_F(followed_file, is_not_looked_at_for_keys_without_one) {
  EXPECT_EQ(texts_.get(0), std::nullopt);
  write("one");
  now = 100'000;
  EXPECT_EQ(texts_.get(0), std::nullopt);
  EXPECT_EQ(loads_, 1);
}

TEST_F(followed_file, is_not_read_again_while_it_stays) {
  texts_.get(2);
  for (now = 1000; now < 2000; now += 10) EXPECT_EQ(texts_.get(2), std::nullopt);
  EXPECT_EQ(loads_, 1);
  EXPECT_EQ(texts_.statistics().hits, 100u);
}

TEST(memo, answers_grow_old) {
  int loads = 0;
  memo<int, int> answers([&](const int& key) { return ++loads, key < 0 ? std::nullopt : std::optional(key); },
                         {.ttl_ms = 100, .negative_ttl_ms = 10, .now_ms = test_clock});
  now = 1000;
  answers.get(1), answers.get(-1);
  now = 1009;
  answers.get(1), answers.get(-1);
  EXPECT_EQ(loads, 2);
  now = 1010;
  EXPECT_EQ(answers.peek(-1), std::nullopt);
  answers.get(1), answers.get(-1);
  EXPECT_EQ(loads, 3);
  now = 1100;
  EXPECT_EQ(answers.get(1), 1);
  EXPECT_EQ(loads, 4);
  EXPECT_EQ(answers.statistics().expirations, 2u);
  EXPECT_EQ(answers.statistics().entries, 2u);
}

TEST(memo, the_longest_times_never_end) {
  constexpr std::uint64_t longest = std::numeric_limits<std::uint64_t>::max();
  int loads = 0;
  memo<int, int> answers(
      [&](const int& key) { return ++loads, key < 0 ? std::nullopt : std::optional(key); },
      {.ttl_ms = longest, .negative_ttl_ms = longest - 1, .check_ms = longest, .now_ms = test_clock});
  now = 1000;
  answers.put(2, 2, longest);
  for (int time = 0; time < 3; ++time, now += 1'000'000'000) answers.get(1), answers.get(-1), answers.get(2);
  EXPECT_EQ(loads, 2);
}

TEST(memo, an_answer_has_a_lifetime_of_its_own) {
  now = 1000;
  memo<int, int> answers([](const int& key) { return key == 0 ? std::nullopt : std::optional(key); },
                         {.ttl_ms = 7, .now_ms = test_clock}, {},
                         [](const int& key, const std::optional<int>& value) -> std::uint64_t {
                           return value ? static_cast<std::uint64_t>(key) : 5;
                         });
  for (const int key : {0, 10, 20}) answers.get(key);
  answers.put(30, 1, 100);
  answers.put(40, 1, 0);
  answers.put(50, 1);
  now = 1005;
  EXPECT_FALSE(answers.peek(0));
  EXPECT_TRUE(answers.peek(10));
  now = 1010;
  EXPECT_FALSE(answers.peek(10));
  EXPECT_TRUE(answers.peek(20));
  now = 1049;
  EXPECT_FALSE(answers.peek(20));
  EXPECT_TRUE(answers.peek(50)) << "put without a lifetime asks for it";
  now = 1050;
  EXPECT_FALSE(answers.peek(50));
  now = 1100;
  EXPECT_FALSE(answers.peek(30));
  now = 1'000'000'000;
  EXPECT_TRUE(answers.peek(40)) << "forever";
}

TEST(memo, is_bounded_by_count_and_keeps_what_is_used) {
  memo<int, int> answers([](const int& key) { return key; }, {.entries = 64, .shards = 1});
  for (int key = 0; key < 10'000; ++key) {
    answers.get(key);
    for (int hot = 0; hot < 8; ++hot) answers.get(hot);
    ASSERT_LE(answers.statistics().entries, 64u);
  }
  for (int hot = 0; hot < 8; ++hot) EXPECT_TRUE(answers.peek(hot)) << hot;
  EXPECT_EQ(answers.statistics().loads, 10'000u) << "what is used was never asked for again";
  EXPECT_EQ(answers.statistics().evictions, 10'000u - 64u);
}

TEST(memo, has_no_more_shards_than_answers) {
  memo<int, int> answers([](const int& key) { return key; }, {.entries = 3, .shards = 16});
  for (int key = 0; key < 1000; ++key) {
    EXPECT_EQ(answers.get(key), key);
    ASSERT_LE(answers.statistics().entries, 3u);
  }
}

TEST(memo, holds_as_many_answers_as_it_was_given) {
  for (const std::size_t entries : {1, 2, 3, 17, 100}) {
    memo<int, int> answers([](const int& key) { return key; }, {.entries = entries, .shards = 16});
    for (int key = 0; key < 10'000; ++key) answers.get(key);
    EXPECT_EQ(answers.statistics().entries, entries);
  }
}

TEST(memo, is_bounded_by_bytes) {
  const auto weigh = [](const int&, const std::optional<std::string>& value) { return value->size(); };
  memo<int, std::string> answers([](const int& key) { return std::string(static_cast<std::size_t>(key), 'x'); },
                                 {.bytes = 10'000, .shards = 1}, weigh);
  for (int turn = 0; turn < 500; ++turn) {
    const int size = turn * 37 % 2000;
    EXPECT_EQ(answers.get(size)->size(), static_cast<std::size_t>(size));
    ASSERT_LE(answers.statistics().bytes, 10'000u);
  }
  EXPECT_GT(answers.statistics().evictions, 100u);
  EXPECT_EQ(answers.get(20'000)->size(), 20'000u);
  EXPECT_FALSE(answers.peek(20'000)) << "too large to be remembered";
  EXPECT_GT(answers.statistics().entries, 0u) << "and nothing gave way to it";
}

TEST(memo, is_changed_by_put_forget_and_clear) {
  memo<int, int> answers([](const int&) -> std::optional<int> { throw std::runtime_error("not to be asked"); });
  EXPECT_EQ(answers.peek(1), std::nullopt);
  answers.put(1, 10);
  answers.put(2, std::nullopt);
  EXPECT_EQ(answers.get(1), 10);
  EXPECT_EQ(answers.get(2), std::nullopt);
  ASSERT_TRUE(answers.peek(2)) << "it is known that there is none";
  EXPECT_EQ(*answers.peek(2), std::nullopt);
  answers.put(1, 11);
  EXPECT_EQ(answers.get(1), 11);
  EXPECT_EQ(answers.statistics().entries, 2u);
  EXPECT_TRUE(answers.forget(1));
  EXPECT_FALSE(answers.forget(1));
  answers.clear();
  EXPECT_EQ(answers.statistics().entries, 0u);
  EXPECT_EQ(answers.statistics().bytes, 0u);
  EXPECT_EQ(answers.peek(2), std::nullopt);
}

TEST(memo, holds_values_that_cannot_be_assigned_and_memos_within_memos) {
  struct fixed {
    const int value;
  };
  memo<int, fixed> inner([](const int& key) { return std::optional<fixed>(fixed{key}); });
  struct asks_when_copied {
    memo<int, fixed>* inner_memo;
    asks_when_copied(memo<int, fixed>* inner_memo_) : inner_memo(inner_memo_) {}
    asks_when_copied(const asks_when_copied& source) : inner_memo(source.inner_memo) { inner_memo->get(3); }
    asks_when_copied(asks_when_copied&&) = default;
  };
  memo<int, asks_when_copied> outer([&](const int&) { return std::optional<asks_when_copied>(&inner); });
  for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(outer.get(1)->inner_memo, &inner);
  EXPECT_EQ(inner.get(3)->value, 3);
}

void read_replace_and_evict() {
  // Values that are freed under a reader would show here, and in the sanitizers.
  memo<int, std::string> answers([](const int& key) { return answer_to(key); }, {.entries = 32, .shards = 2});
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> loads{0};
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t state = thread + 1;
      for (int turn = 0; turn < 10'000; ++turn) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const int key = static_cast<int>((state >> 33) % 60);
        if (turn % 64 == 0) {
          answers.forget(key);
        } else if (turn % 50 == 0) {
          answers.put(key, answer_to(key));
        } else {
          ++loads;
          ASSERT_EQ(answers.get(key), answer_to(key));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto statistics = answers.statistics();
  EXPECT_EQ(statistics.hits + statistics.loads + statistics.shared_loads, loads) << "every get is counted, once";
  EXPECT_LE(statistics.entries, 32u);
}

TEST(memo, threads_read_while_others_replace_and_evict) { read_replace_and_evict(); }

TEST(memo, threads_read_and_evict_without_membarrier) {
  EXPECT_EQ(support::in_child([] {
              tarn::reclaim::refuse_membarrier();
              read_replace_and_evict();
              return testing::Test::HasFailure();
            }),
            support::ending());
}

struct ends_its_memo;
std::optional<memo<int, ends_its_memo>> doomed;
struct ends_its_memo {
  ends_its_memo() = default;
  ends_its_memo(const ends_its_memo&) {
    if (is_armed) doomed.reset();
  }
  static inline bool is_armed = false;
};

TEST(memo, ends_with_a_fault_while_it_is_read) {
  const support::ending child_ending = support::in_child([] {
    doomed.emplace([](int) { return ends_its_memo(); });
    doomed->get(1);
    ends_its_memo::is_armed = true;
    doomed->get(1);
  });
  const std::string text = "tarn: memo ends while version 1 is read by thread ";
  EXPECT_EQ(child_ending.error.substr(0, text.size()), text);
  EXPECT_EQ(child_ending.signal, SIGABRT);
}

TEST(memo, what_gave_way_is_freed) {
  struct instance_counter {
    std::shared_ptr<int> alive;
  };
  const auto alive = std::make_shared<int>();
  {
    memo<int, instance_counter> answers([&](const int&) { return instance_counter{alive}; },
                                        {.entries = 16, .shards = 1});
    for (int key = 0; key < 10'000; ++key) {
      answers.get(key);
      ASSERT_LE(alive.use_count(), 16 + 32 + 4) << "entries, and those that wait to be freed";
    }
  }
  EXPECT_EQ(alive.use_count(), 1);
}

struct counted_answer {
  counted_answer() { ++alive; }
  counted_answer(const counted_answer&) { ++alive; }
  ~counted_answer() { --alive; }
  static inline std::atomic<int> alive{0};
};

// Returns 0 if no answer is freed, and a bounded number is kept, once the kernel refuses barriers. The calling process
// is restricted from then on.
int evict_without_barriers() {
  {
    memo<int, counted_answer> answers([](int) { return counted_answer(); }, {.entries = 100, .shards = 1});
    const auto ask = [&](int first, int end) {
      for (int key = first; key < end; ++key) answers.get(key);
    };
    ask(0, 1000);
    const int before = counted_answer::alive;
    if (before > 200 || refuse_call(SYS_membarrier, EPERM) != 0) return 1;
    for (int last = before, key = 1000; key < 100'000; key += 10) {
      ask(key, key + 10);
      if (counted_answer::alive < last) return 2;  // a thread may read the freed one, unseen
      last = counted_answer::alive;
    }
    if (counted_answer::alive > 1000) return 3;
  }
  return counted_answer::alive;
}

// A program may restrict itself while it uses a memo, as sandboxes do.
TEST(memo, frees_no_answer_once_the_kernel_refuses_barriers) {
  ASSERT_TRUE(tarn::platform::prepare_barriers());
  EXPECT_EQ(support::in_child(evict_without_barriers), support::ending());
}

TEST(memo, short_threads_hand_their_places_on) {
  memo<int, int> answers([](const int& key) { return key; });
  for (int thread = 0; thread < 200; ++thread) std::thread([&] { answers.get(1), answers.get(2); }).join();
  EXPECT_EQ(answers.statistics().hits, 398u);
}

}  // namespace
