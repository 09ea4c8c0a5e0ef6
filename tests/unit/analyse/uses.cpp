// Compares locks and system calls of two recordings, function by function.
#include "analyse/uses.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

use made(const char* what, const char* function, std::uint64_t count, std::uint64_t ns) {
  return {what, function, "file.cpp", count, ns};
}

TEST(uses, what_did_not_change_is_left_out) {
  const std::vector<use> some = {made("write", "f", 10, 100), made("mutex", "g", 1, 5)};
  const use_difference none = compare(some, some);
  EXPECT_TRUE(none.changes.empty());
  EXPECT_EQ(none.before.count, 11U);
  EXPECT_EQ(none.after.nanoseconds, 105U);
}

TEST(uses, the_largest_change_is_first) {
  const use_difference all = compare(
      {made("write", "f", 10, 100), made("write", "f", 5, 50), made("read", "f", 9, 9), made("open", "h", 2, 0)},
      {made("write", "f", 3, 30), made("read", "f", 8, 9), made("close", "h", 1, 10'000)});
  ASSERT_EQ(all.changes.size(), 4U);
  EXPECT_EQ(all.changes[0].after->what, "close");
  EXPECT_FALSE(all.changes[0].before);
  EXPECT_EQ(all.changes[0].saved_ns(), -10'000);
  EXPECT_EQ(all.changes[1].before->count, 15U) << "both of f";
  EXPECT_EQ(all.changes[1].saved_ns(), 120);
  EXPECT_EQ(all.changes[2].before->what, "open") << "two fewer";
  EXPECT_EQ(all.changes[3].before->what, "read") << "one fewer";
}

TEST(uses, are_those_of_a_recording) {
  format::recording in = recording_of({{.blocks = 1}});
  in.calls[{1, 0, 1}][format::calls] = 7;
  in.locks = {{}, {0, format::lock_type::mutex, 1, 0x1000}, {0, format::lock_type::condition, 1, 0x2000}};
  in.lockings[{1, 0, 1}][format::acquisitions] = 8;
  in.lockings[{1, 0, 2}][format::acquisitions] = 9;
  symbols by(in);
  const std::vector<use> calls = calls_in(in, by), locks = locks_in(in, by);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].count, 7U);
  ASSERT_EQ(locks.size(), 1U) << "without the condition";
  EXPECT_EQ(locks[0].count, 8U);
  EXPECT_EQ(locks[0].what, "mutex");
}

}  // namespace
}  // namespace tarn::analyse
