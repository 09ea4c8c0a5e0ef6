// Tests which function of a stack decides, and which sites count as one.
#include "analyse/wrappers.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

bool passes(const std::string& function, const std::string& module = "/home/program", const std::string& file = "") {
  return passes_on({function, file, 1, module, 0x10});
}

TEST(wrappers, functions_that_allocate_for_others_pass_on) {
  for (const char* const each : {"zmalloc", "xmalloc", "PyMem_RawMalloc", "AllocSetAlloc", "palloc", "ngx_memalign",
                                 "ap_pstrdup", "kmemdup", "ggc_internal_alloc(unsigned long, void (*)(void*))"}) {
    EXPECT_TRUE(passes(each)) << each;
  }
  for (const char* const each :
       {"main", "PyUnicode_New", "pool::allocate_all(int)", "ns::alloc(int)", "f(std::allocator<char>)", ""}) {
    EXPECT_FALSE(passes(each)) << each;
  }
}

TEST(wrappers, the_language_passes_on) {
  EXPECT_TRUE(passes("operator new(unsigned long)"));
  EXPECT_TRUE(passes("std::vector<int, std::allocator<int> >::push_back(int const&)"));
  EXPECT_TRUE(passes("getline", "/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_TRUE(passes("basic_json::basic_json(int)", "/home/program", "/usr/include/nlohmann/json.hpp"));
}

// Sites without a name: their functions decide, except where many callers come together.
TEST(wrappers, a_nameless_function_of_many_callers_is_passed) {
  format::recording in = recording_of({{.blocks = 10}, {.blocks = 10}, {.blocks = 10}});
  for (std::uint64_t number = 1; number <= 3; ++number) in.sites[number].frames = {0x1000, 0x2000 + number, 0x3000};
  symbols by(in);
  const heap_findings found = find(in);
  const deciders three(in, found.sites, by);
  EXPECT_EQ(three.frame_of(1), 1U);
  in.sites[3].frames = {0x1000, 0x2001, 0x4000};
  const deciders two(in, found.sites, by);
  EXPECT_EQ(two.frame_of(1), 0U) << "two callers are not many";
}

TEST(wrappers, sites_of_one_function_and_category_are_one) {
  format::recording in = recording_of({{.blocks = 100, .own_frees = 100},
                                       {.blocks = 50, .own_frees = 50},
                                       {.blocks = 30, .own_frees = 30, .between = 1000},
                                       {.blocks = 20},
                                       {.blocks = 7, .own_frees = 7}});
  for (std::uint64_t number = 1; number <= 4; ++number) in.sites[number].frames = {0x1000, 0x2000 + number % 2};
  symbols by(in);
  const heap_findings found = find(in);
  const std::vector<site> all = grouped(in, found.sites, deciders(in, found.sites, by));
  ASSERT_EQ(all.size(), 4U) << "long-lived, kept and of another function are apart";
  EXPECT_EQ(all[0].number, 1U);
  EXPECT_EQ(all[0].others, std::vector<std::uint32_t>{2});
  EXPECT_EQ(all[0].sums[format::blocks], 150U);
  EXPECT_EQ(all[0].freed_by_same_thread, 150U);
  EXPECT_EQ(all[0].short_lived, 150U);
  EXPECT_EQ(all[0].threads, 1U);
}

TEST(wrappers, what_is_put_together_adds_up) {
  site one, other;
  one.allocating = {0, 2};
  one.pairs = {{0, 1, 10}};
  other.number = 7;
  other.allocating = {1, 2};
  other.live = 3;
  other.pairs = {{0, 1, 5}, {1, 0, 90}};
  one.sums[format::blocks] = other.sums[format::blocks] = 100;
  one.sums[format::spread] = other.sums[format::spread] = 50;
  add_site(one, other);
  EXPECT_EQ(one.threads, 3U);
  EXPECT_EQ(one.live, 3U);
  ASSERT_EQ(one.pairs.size(), 2U);
  EXPECT_EQ(one.pairs[0].blocks, 90U);
  EXPECT_EQ(one.pairs[1].blocks, 15U);
  EXPECT_NEAR(one.error, 1.96 * 10 / 200, 1e-9) << "of both together";
}

}  // namespace
}  // namespace tarn::analyse
