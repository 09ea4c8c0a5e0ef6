// Tests heaps that record where their blocks were allocated.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <tarn/heap.hpp>

namespace {

std::string said_at_the_end_of(std::size_t left) {
  testing::internal::CaptureStderr();
  {
    tarn::heap lane({.name = "lane", .records_sites = true});
    std::minstd_rand random(7);
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (std::size_t count = 0; count < 5000; ++count) {  // fills more than the first table and reuses addresses
      const std::size_t bytes = count % 500 == 0 ? 400'000 : random() % 3000;
      blocks.emplace_back(lane.allocate(bytes), bytes);
      if (random() % 3 == 0) {
        lane.deallocate(blocks.back().first, blocks.back().second);
        blocks.pop_back();
      }
    }
    while (blocks.size() > left) {
      lane.deallocate(blocks.back().first, blocks.back().second);
      blocks.pop_back();
    }
    EXPECT_TRUE(lane.is_valid());
  }
  return testing::internal::GetCapturedStderr();
}

TEST(sites, nothing_is_said_when_all_is_freed) { EXPECT_EQ(said_at_the_end_of(0), ""); }

TEST(sites, each_block_in_use_counts_once) {
  EXPECT_NE(said_at_the_end_of(1000).find("ended with 1000 blocks, "), std::string::npos);
}

TEST(sites, other_heaps_say_nothing) {
  testing::internal::CaptureStderr();
  {
    tarn::heap lane({.counts_calls = true});
    static_cast<void>(lane.allocate(100));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
