// Tests features and checks that only the fake platform has.
#include "platform/fake/platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/bits.hpp"
#include "platform/platform.hpp"
#include "support/child.hpp"

namespace {

using namespace tarn::base::units;
using namespace tarn::platform;
using testing::HasSubstr;

const std::size_t page = page_bytes();

class fake_platform : public testing::Test {
 protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override { fake::reset(); }
};

TEST_F(fake_platform, fails_the_request_that_it_is_told_to_fail) {
  for (std::uint64_t n = 1; n <= 5; ++n) {
    fake::reset();
    fake::fail_request(n);
    for (std::uint64_t request = 1; request <= 8; ++request) {
      void* const start = map(page, page);
      EXPECT_EQ(start == nullptr, request == n) << n;
      if (start != nullptr) unmap(start, page);
    }
    EXPECT_EQ(fake::page_requests(), 8u);
    EXPECT_EQ(fake::refused_requests(), 1u);
  }
}

TEST_F(fake_platform, fails_all_requests_from_one_on) {
  fake::fail_requests_from(2);
  void* const start = map(page, page);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(map(page, page), nullptr);
  EXPECT_EQ(reserve(page), nullptr);
  EXPECT_FALSE(prefault(start, page));
  EXPECT_FALSE(resize(start, page, 2 * page));
  EXPECT_TRUE(purge(start, page));
  EXPECT_EQ(fake::refused_requests(), 4u);
  fake::fail_requests_from(0);
  EXPECT_TRUE(prefault(start, page));
  unmap(start, page);
}

TEST_F(fake_platform, every_kind_of_page_request_can_fail) {
  char* const table = static_cast<char*>(reserve(4 * page));
  char* const first = static_cast<char*>(map(page, page));
  char* const second = static_cast<char*>(map(2 * page, page));
  ASSERT_TRUE(table != nullptr && first != nullptr && second != nullptr);
  const auto before = fake::mappings();
  const std::size_t mapped = mapped_bytes();
  *first = 7;
  fake::fail_request(1);
  EXPECT_FALSE(make_writable(table, page));
  fake::fail_request(1);
  EXPECT_FALSE(resize(second, 2 * page, 3 * page));
  fake::fail_request(1);
  EXPECT_FALSE(prefault(second, page));
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_EQ(mapped_bytes(), mapped);
  fake::fail_request(1);
  EXPECT_FALSE(move(first, page, second, 2 * page));
  EXPECT_EQ(*first, 7);
  EXPECT_EQ(fake::mappings().size(), before.size() - 1);  // the address range is free
  EXPECT_EQ(mapped_bytes(), mapped - 2 * page);
  unmap(first, page);
}

TEST_F(fake_platform, keeps_to_a_budget) {
  fake::set_budget(mapped_bytes() + 4 * page);
  void* const first = map(3 * page, page);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(map(2 * page, page), nullptr);
  void* const second = map(page, page);
  EXPECT_NE(second, nullptr);
  char* const table = static_cast<char*>(reserve(page));
  ASSERT_NE(table, nullptr);
  EXPECT_FALSE(make_writable(table, page));
  unmap(first, 3 * page);
  EXPECT_TRUE(make_writable(table, page));
  EXPECT_EQ(fake::refused_requests(), 2u);
  unmap(second, page);
}

TEST_F(fake_platform, records_what_is_mapped) {
  const auto before = fake::mappings();
  const std::size_t outstanding = fake::outstanding_bytes();
  char* const start = static_cast<char*>(map(8 * page, page));
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(fake::outstanding_bytes(), outstanding + 8 * page);
  EXPECT_THAT(fake::mappings(), testing::Contains(fake::mapping{start, 8 * page}));
  EXPECT_TRUE(resize(start, 8 * page, 6 * page));
  EXPECT_THAT(fake::mappings(), testing::Contains(fake::mapping{start, 6 * page}));
  unmap(start, 6 * page);
  EXPECT_EQ(fake::mappings(), before);
  EXPECT_EQ(fake::outstanding_bytes(), outstanding);
}

TEST_F(fake_platform, maps_where_it_is_told) {
  char* const hole = static_cast<char*>(map(4_MiB, 2_MiB));
  ASSERT_NE(hole, nullptr);
  fake::map_next_at(hole);
  EXPECT_EQ(map(page, page), nullptr);  // the range is occupied
  unmap(hole, 4_MiB);
  fake::map_next_at(hole);
  ASSERT_EQ(map(1_MiB, 1_MiB), hole);
  EXPECT_TRUE(resize(hole, 1_MiB, 2_MiB));
  fake::refuse_growth(true);
  EXPECT_FALSE(resize(hole, 2_MiB, 4_MiB));
  EXPECT_TRUE(resize(hole, 2_MiB, 1_MiB));
  unmap(hole, 1_MiB);
  void* const elsewhere = map(page, page);  // happens only once
  EXPECT_NE(elsewhere, hole);
  unmap(elsewhere, page);
}

TEST_F(fake_platform, maps_near_where_it_is_told) {
  char* const hole = static_cast<char*>(map(4_MiB, 2_MiB));
  ASSERT_NE(hole, nullptr);
  unmap(hole, 4_MiB);
  fake::map_near(hole + 1_MiB);
  char* const first = static_cast<char*>(map(page, page));
  EXPECT_EQ(first, hole + 1_MiB);
  char* const second = static_cast<char*>(map(page, page));  // the range is occupied
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second, first);
  unmap(first, page);
  unmap(second, page);
}

TEST_F(fake_platform, a_refused_purge_keeps_the_contents) {
  char* const start = static_cast<char*>(map(page, page));
  ASSERT_NE(start, nullptr);
  *start = 4;
  const auto before = purge_totals().runs;
  fake::refuse_purges(true);
  EXPECT_FALSE(purge(start, page));
  EXPECT_EQ(*start, 4);
  EXPECT_EQ(purge_totals().runs, before);
  fake::refuse_purges(false);
  EXPECT_TRUE(purge(start, page));
  EXPECT_EQ(*start, 0);
  unmap(start, page);
}

TEST_F(fake_platform, the_clock_is_as_it_is_told) {
  const std::uint64_t now = now_ms();
  EXPECT_EQ(now_ms(), now);
  fake::advance_ms(250);
  EXPECT_EQ(now_ms(), now + 250);
  fake::set_now_ms(now + 1000);
  EXPECT_EQ(now_ms(), now + 1000);
}

TEST_F(fake_platform, counts_what_enters_the_kernel) {
  const std::uint64_t before = fake::kernel_calls();
  void* const start = map(2 * page, page);
  prefault(start, 2 * page);
  advise_huge(start, 2 * page, true);
  std::uint32_t word = 0;
  wait(&word, 1);
  wake_one(&word);
  unmap(start, 2 * page);
  EXPECT_EQ(fake::kernel_calls(), before + 6);
  EXPECT_EQ(fake::prefaulted_bytes(), 2 * page);
  EXPECT_EQ(fake::huge_advices(true), 1u);
  EXPECT_EQ(fake::huge_advices(false), 0u);
  static_cast<void>(now_ms());
  EXPECT_EQ(fake::kernel_calls(), before + 6);
}

TEST_F(fake_platform, a_broken_contract_ends_the_program) {
  char* const start = static_cast<char*>(map(4 * page, page));
  char* const table = static_cast<char*>(reserve(page));
  ASSERT_TRUE(start != nullptr && table != nullptr);
  const auto violates = [](auto call, const char* message) {
    const support::ending child_ending = support::in_child(call);
    EXPECT_EQ(child_ending.signal, SIGABRT);
    EXPECT_THAT(child_ending.error, HasSubstr(message));
  };
  violates([] { map(100, page); }, "map(");
  violates([] { map(page, 3 * page); }, "map(");
  violates([] { map(page, 16); }, "no alignment");
  violates([=] { unmap(start + page, page); }, "no whole mapping");
  violates([=] { unmap(start, 5 * page); }, "no whole mapping");
  violates([=] { unmap(start, 4 * page), unmap(start, 4 * page); }, "no whole mapping");
  violates([=] { static_cast<void>(resize(start, 2 * page, 3 * page)); }, "no mapping of this size");
  violates([=] { static_cast<void>(make_writable(start, page)); }, "writable already");
  violates([=] { purge(start, 5 * page); }, "no part of a mapping");
  violates([=] { purge(table, page); }, "no part of a mapping");
  violates([=] { prefault(start + 4 * page, page); }, "no part of a mapping");
  violates([=] { static_cast<void>(move(start, 4 * page, table, page)); }, "not from one whole mapping");
  unmap(start, 4 * page);
}

}  // namespace
