#include "platform/fork_section.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace {

using tarn::platform::fork_section;
using tarn::platform::is_only_thread;

// A second thread exists, so that a fork needs locks.
class other_thread {
 public:
  other_thread()
      : thread_([this] {
          while (!is_over_) std::this_thread::yield();
        }) {}
  ~other_thread() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST(fork_section, takes_and_releases_once) {
  const other_thread waiting;
  EXPECT_FALSE(is_only_thread());
  fork_section section;
  EXPECT_FALSE(section.leave());
  ASSERT_TRUE(section.enter());
  section.note_owner();
  std::thread([&] {
    EXPECT_TRUE(section.enter());  // another fork waits for the locks
    EXPECT_FALSE(section.leave());
  }).join();
  EXPECT_FALSE(section.enter());  // a handler forks
  EXPECT_FALSE(section.leave());
  EXPECT_TRUE(section.leave());
  EXPECT_FALSE(section.leave());
}

TEST(fork_section, ends_in_the_child_whatever_the_depth) {
  const other_thread waiting;
  fork_section section;
  ASSERT_TRUE(section.enter());
  section.note_owner();
  EXPECT_FALSE(section.enter());
  EXPECT_TRUE(section.leave_in_child());
  EXPECT_FALSE(section.leave());
  EXPECT_FALSE(section.leave_in_child());
}

}  // namespace
