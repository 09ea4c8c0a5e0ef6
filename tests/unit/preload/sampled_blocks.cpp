// Compares the table of sampled blocks with a std::map, and tests the filter before it.
#include "profiler/preload/sampled_blocks.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <random>

#include "profiler/preload/base/filter.hpp"

#if defined(__x86_64__)
// Replaces profiler/preload/exempt.S, which belongs to a recorded program.
extern "C" long tarn_raw_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const long result = ::syscall(number, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
}
#endif

namespace tarn::preload {
namespace {

const void* block_at(std::uintptr_t number) { return reinterpret_cast<const void*>((number + 1) * 16); }

allocation_record born_at(std::uint32_t site) {
  allocation_record result;
  result.weight = 1;
  result.site = site;
  return result;
}

TEST(sampled_blocks, agrees_with_a_map) {
  ASSERT_TRUE(set_up_sampled());
  std::map<const void*, std::uint32_t> expected;
  std::mt19937 random(1);
  for (std::uint32_t round = 0; round < 200'000; ++round) {
    const void* const block = block_at(random() % 20'000);
    if (random() % 5 < 3) {
      ASSERT_TRUE(note_sampled(block, born_at(round)));
      expected[block] = round;
      ASSERT_TRUE(may_have_record(block));
    } else {
      const auto match = expected.find(block);
      const allocation_record born = take_sampled(block);
      ASSERT_EQ(born.weight, match == expected.end() ? 0 : 1);
      if (match == expected.end()) continue;
      ASSERT_EQ(born.site, match->second);
      expected.erase(match);
    }
  }
  for (const auto& [block, site] : expected) {
    ASSERT_TRUE(may_have_record(block));
    ASSERT_EQ(take_sampled(block).site, site);
  }
}

TEST(sampled_blocks, the_filter_lets_pass_what_went) {
  ASSERT_TRUE(set_up_sampled());
  for (std::uint32_t round = 0; round < 100; ++round) {
    for (std::uintptr_t number = 0; number < 200; ++number) ASSERT_TRUE(note_sampled(block_at(number), born_at(round)));
    for (std::uintptr_t number = 0; number < 200; ++number) EXPECT_EQ(take_sampled(block_at(number)).site, round);
  }
  int cached = 0;
  for (std::uintptr_t number = 0; number < 200; ++number) cached += may_have_record(block_at(number)) ? 1 : 0;
  EXPECT_LE(cached, 1);  // one that shares the slot of null
}

TEST(sampled_blocks, null_is_always_asked_for) {
  ASSERT_TRUE(set_up_sampled());
  EXPECT_TRUE(may_have_record(nullptr));
  EXPECT_EQ(take_sampled(nullptr).weight, 0U);
}

}  // namespace
}  // namespace tarn::preload
