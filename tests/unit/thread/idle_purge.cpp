// Memory goes back to the system while no thread calls.
#include "memory/thread/idle_purge.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include <tarn/tarn.hpp>

#include "base/options.hpp"
#include "memory/heap/registry.hpp"
#include "memory/thread/threads.hpp"
#include "platform/fake.hpp"
#include "platform/platform.hpp"

namespace {

using namespace tarn;
using namespace tarn::base::units;
namespace fake = platform::fake;

class idle_purge : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(threads::initialise());
    current().trim();
    while (fake::run_helper()) {
    }
    fake::reset();
    before_ = platform::purged().bytes;
  }
  std::uint64_t purged() const { return platform::purged().bytes - before_; }

  static void allocate_and_free(heap& owner, std::size_t count, std::size_t bytes) {
    std::vector<void*> blocks;
    for (std::size_t round = 0; round < count; ++round) {
      blocks.push_back(owner.allocate(bytes));
    }
    for (void* block : blocks) {
      owner.deallocate(block);
    }
  }

  std::uint64_t before_ = 0;
};

TEST_F(idle_purge, gives_back_what_the_program_left) {
  allocate_and_free(current(), 3, 5_MiB);
  EXPECT_EQ(purged(), 0u);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GE(purged(), 15_MiB);
  EXPECT_FALSE(fake::run_helper()) << "one is enough, and it has ended";
}

TEST_F(idle_purge, takes_less_than_a_second) {
  allocate_and_free(current(), 3, 5_MiB);
  const std::uint64_t start = platform::now_ms();
  EXPECT_TRUE(fake::run_helper());
  EXPECT_LE(platform::now_ms() - start, 1000u);
}

TEST_F(idle_purge, reaches_the_spaces_of_heap_objects) {
  heap lane;
  heap keeping({.keep = true});
  allocate_and_free(keeping, 3, 3_MiB);
  EXPECT_FALSE(fake::run_helper());
  allocate_and_free(lane, 3, 3_MiB);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_GE(purged(), 9_MiB);
  EXPECT_LT(purged(), 18_MiB);
  EXPECT_TRUE(lane.is_valid());
}

TEST_F(idle_purge, needs_no_helper_for_little) {
  allocate_and_free(current(), 10, 300'000);
  EXPECT_FALSE(fake::run_helper());
}

TEST_F(idle_purge, starts_again_after_each_burst) {
  for (int round = 0; round < 5; ++round) {
    allocate_and_free(current(), 3, 5_MiB);
    EXPECT_TRUE(fake::run_helper()) << round;
    EXPECT_FALSE(fake::run_helper());
  }
  EXPECT_GE(purged(), 75_MiB);
}

TEST_F(idle_purge, ends_where_memory_cannot_be_given_back) {
  fake::refuse_purges(true);
  allocate_and_free(current(), 3, 5_MiB);
  EXPECT_TRUE(fake::run_helper());
  EXPECT_FALSE(fake::run_helper());
  allocate_and_free(current(), 3, 5_MiB);
  EXPECT_FALSE(fake::run_helper());
  fake::refuse_purges(false);
  EXPECT_GE(current().trim(), 15_MiB) << "who asks gets another attempt";
}

TEST_F(idle_purge, works_in_a_child_that_was_forked_while_a_helper_was_wanted) {
  allocate_and_free(current(), 3, 5_MiB);
  const pid_t child = fork();
  if (child == 0) {
    bool right = !fake::run_helper();  // it is the parent's
    allocate_and_free(current(), 3, 5_MiB);
    right = fake::run_helper() && purged() >= 15_MiB && right;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fake::run_helper());
}

}  // namespace
