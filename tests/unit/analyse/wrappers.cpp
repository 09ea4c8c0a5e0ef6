// Tests which function of a stack decides, and which sites count as one.
#include "profiler/findings/heap/wrappers.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

bool passes(const std::string& function, const std::string& module = "/home/program", const std::string& file = "") {
  return is_wrapper({function, file, 1, module, 0x10});
}

TEST(wrappers, functions_that_allocate_for_others_pass_on) {
  for (const char* const character :
       {"zmalloc", "xmalloc", "PyMem_RawMalloc", "AllocSetAlloc", "palloc", "ngx_memalign", "ap_pstrdup", "kmemdup",
        "ggc_internal_alloc(unsigned long, void (*)(void*))"}) {
    EXPECT_TRUE(passes(character)) << character;
  }
  for (const char* const character :
       {"main", "PyUnicode_New", "pool::allocate_all(int)", "ns::alloc(int)", "f(std::allocator<char>)", ""}) {
    EXPECT_FALSE(passes(character)) << character;
  }
}

TEST(wrappers, what_returns_no_block_does_not_pass_it_on) {
  code_location location{"process_allocation(int)", "", 1, "/home/program", 0x10};
  EXPECT_TRUE(is_wrapper(location)) << "nothing is known of what it returns";
  location.returns_no_block = true;
  EXPECT_FALSE(is_wrapper(location));
  location.function = "ngx_posix_memalign(void**, unsigned long, unsigned long)";
  EXPECT_TRUE(is_wrapper(location)) << "its result is an error";
  location.function = "operator delete(void*)";
  EXPECT_TRUE(is_wrapper(location));
}

TEST(wrappers, the_language_passes_on) {
  EXPECT_TRUE(passes("operator new(unsigned long)"));
  EXPECT_TRUE(passes("node::operator new(unsigned long)")) << "of a class";
  EXPECT_TRUE(passes("(anonymous namespace)::node<int>::operator new[](unsigned long)"));
  EXPECT_TRUE(passes("tarn::asio::detail::framed::allocate(unsigned long, std::pmr::memory_resource&)"));
  EXPECT_FALSE(passes("tarn::appserver::allocate(unsigned long)")) << "a program's own namespace";
  EXPECT_TRUE(passes("std::vector<int, std::allocator<int> >::push_back(int const&)"));
  EXPECT_TRUE(passes("alloc::vec::Vec<fn(u8)>::with_capacity"));
  EXPECT_TRUE(passes("core::ops::function::FnOnce<()>::call_once"));
  EXPECT_FALSE(passes("core::load(int)")) << "a namespace of C++";
  EXPECT_TRUE(passes("getline", "/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_TRUE(passes("basic_json::basic_json(int)", "/home/program", "/usr/include/nlohmann/json.hpp"));
}

TEST(wrappers, a_container_outgrows_a_block_only_in_its_own_functions) {
  const auto named = [](const char* function) {
    code_location location;
    location.function = function;
    location.module = "/home/program";
    return location;
  };
  const code_location release = named("operator delete(void*)"), caller = named("split(int)"),
                      growth = named("void std::vector<long>::_M_realloc_insert<long>(long*, long&&)"),
                      destructor = named("std::vector<long>::~vector()");
  EXPECT_TRUE(is_outgrown({release, growth, caller}));
  EXPECT_FALSE(is_outgrown({release, destructor, caller}));
  EXPECT_FALSE(is_outgrown({release, destructor, caller, growth})) << "an element that itself owns memory";
  EXPECT_FALSE(is_outgrown({}));
}

// Sites without a name: their functions decide, except where many callers come together.
TEST(wrappers, a_nameless_function_of_many_callers_is_passed) {
  format::recording recording = recording_of({{.blocks = 10}, {.blocks = 10}, {.blocks = 10}});
  for (std::uint64_t number = 1; number <= 3; ++number)
    recording.sites[number].frames = {0x1000, 0x2000 + number, 0x3000};
  symbols symbols(recording);
  const heap_findings findings = find(recording);
  const deciding_frames three(recording, findings.sites, symbols);
  EXPECT_EQ(three.frame_of(1), 1U);
  recording.sites[3].frames = {0x1000, 0x2001, 0x4000};
  const deciding_frames two(recording, findings.sites, symbols);
  EXPECT_EQ(two.frame_of(1), 0U) << "two callers are not many";
}

TEST(wrappers, sites_of_one_function_and_category_are_one) {
  format::recording recording = recording_of({{.blocks = 100, .own_frees = 100},
                                              {.blocks = 50, .own_frees = 50},
                                              {.blocks = 30, .own_frees = 30, .lifetime = 1000},
                                              {.blocks = 20},
                                              {.blocks = 7, .own_frees = 7}});
  for (std::uint64_t number = 1; number <= 4; ++number) recording.sites[number].frames = {0x1000, 0x2000 + number % 2};
  symbols symbols(recording);
  const heap_findings findings = find(recording);
  const std::vector<site> list =
      group_sites(recording, findings.sites, deciding_frames(recording, findings.sites, symbols));
  ASSERT_EQ(list.size(), 4U) << "long-lived, kept and of another function are apart";
  EXPECT_EQ(list[0].number, 1U);
  EXPECT_EQ(list[0].merged_sites, std::vector<std::uint32_t>{2});
  EXPECT_EQ(list[0].sums[format::blocks], 150U);
  EXPECT_EQ(list[0].freed_by_same_thread, 150U);
  EXPECT_EQ(list[0].short_lived, 150U);
  EXPECT_EQ(list[0].threads, 1U);
}

TEST(wrappers, what_is_put_together_adds_up) {
  site site, second;
  site.allocating_threads = {0, 2};
  site.handovers = {{0, 1, 10}};
  second.number = 7;
  second.allocating_threads = {1, 2};
  second.live = 3;
  second.handovers = {{0, 1, 5}, {1, 0, 90}};
  site.sums[format::blocks] = second.sums[format::blocks] = 100;
  site.sums[format::spread] = second.sums[format::spread] = 50;
  add_site(site, second);
  EXPECT_EQ(site.threads, 3U);
  EXPECT_EQ(site.live, 3U);
  ASSERT_EQ(site.handovers.size(), 2U);
  EXPECT_EQ(site.handovers[0].blocks, 90U);
  EXPECT_EQ(site.handovers[1].blocks, 15U);
  EXPECT_NEAR(site.error, 1.96 * 10 / 200, 1e-9) << "of both together";
}

}  // namespace
}  // namespace tarn::analyse
