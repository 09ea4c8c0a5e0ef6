// The thread of the kernel that gives memory back.
#include "platform/helper.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "platform/platform.hpp"
#include "platform/sanitizer.hpp"

#if !TARN_HAS_SANITIZER && defined(__x86_64__)  // elsewhere none starts

namespace {

using namespace tarn;

constexpr std::uint32_t hang_ms = 100'000;

std::atomic<std::uint32_t> released{0};
const std::uint32_t* word() noexcept { return reinterpret_cast<const std::uint32_t*>(&released); }

void wait_until_released() noexcept {
  while (released.load() == 0) platform::wait(word(), 0);
}

class helper : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(platform::wait_for_helper_end(hang_ms));
    released = 0;
    ASSERT_TRUE(platform::start_helper(wait_until_released));
  }
  static void release() {
    released = 1;
    platform::wake_one(word());
  }
  void TearDown() override {
    release();
    ASSERT_TRUE(platform::wait_for_helper_end(hang_ms));
  }
};

TEST_F(helper, is_waited_for_until_it_ends) {
  errno = 77;
  EXPECT_FALSE(platform::wait_for_helper_end(0));
  EXPECT_FALSE(platform::wait_for_helper_end(30));
  release();
  EXPECT_TRUE(platform::wait_for_helper_end(hang_ms));
  EXPECT_EQ(errno, 77);
  EXPECT_TRUE(platform::wait_for_helper_end(0));
}

TEST_F(helper, is_the_only_one) { EXPECT_FALSE(platform::start_helper(wait_until_released)); }

TEST_F(helper, of_the_parent_is_not_waited_for_in_a_child_without_fork_handlers) {
  const pid_t child = _Fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(hang_ms / 1000);
    _exit(platform::wait_for_helper_end(~std::uint32_t{0}) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

std::atomic<int> first_errno{-1};
void note_errno() noexcept {
  first_errno = errno;
  errno = 77;
  wait_until_released();
}

// The child's copy of the memory has the variables of the parent's helper as they were at the fork.
TEST_F(helper, begins_with_fresh_thread_local_variables_also_in_a_child) {
  release();
  ASSERT_TRUE(platform::wait_for_helper_end(hang_ms));
  released = 0;
  ASSERT_TRUE(platform::start_helper(note_errno));
  while (first_errno == -1) platform::sleep_ms(1);
  EXPECT_EQ(first_errno, 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(hang_ms / 1000);
    platform::forget_helper();
    first_errno = -1;
    if (!platform::start_helper(note_errno)) _exit(2);
    while (first_errno == -1) platform::sleep_ms(1);
    _exit(first_errno == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace

#endif
