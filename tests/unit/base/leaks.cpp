#include "base/leaks.hpp"

#include <gmock/gmock.h>

#include <string>

namespace {

using testing::HasSubstr;

const void* address_of(std::uintptr_t number) { return reinterpret_cast<const void*>(number); }

std::string printed(tarn::base::leak_report& report) {
  testing::internal::CaptureStderr();
  report.print("pool", "na\"me", address_of(0x1234));
  return testing::internal::GetCapturedStderr();
}

TEST(leaks, nothing_is_said_of_nothing) {
  tarn::base::leak_report report;
  EXPECT_EQ(printed(report), "");
}

TEST(leaks, are_listed_by_place_and_thread_with_the_most_bytes_first) {
  tarn::base::leak_report report;
  report.add(10, address_of(0x101), 7);
  report.add(500, address_of(0x201), 7);
  report.add(10, address_of(0x101), 7);
  report.add(10, address_of(0x101), 8);
  EXPECT_EQ(printed(report),
            "tarn: pool \"na\"me\" at 0x1234: ended with 4 blocks, 530 bytes, in use\n"
            "tarn:   1 blocks, 500 bytes, allocated at 0x200 by thread 7\n"
            "tarn:   2 blocks, 20 bytes, allocated at 0x100 by thread 7\n"
            "tarn:   1 blocks, 10 bytes, allocated at 0x100 by thread 8\n");
}

TEST(leaks, many_places_are_counted_all_the_same) {
  tarn::base::leak_report report;
  for (std::uintptr_t number = 1; number <= 100; ++number) report.add(1, address_of(number << 8 | 1), 1);
  const std::string text = printed(report);
  EXPECT_THAT(text, HasSubstr(": ended with 100 blocks, 100 bytes, in use\n"));
  EXPECT_THAT(text, HasSubstr("tarn:   68 blocks, 68 bytes, allocated elsewhere\n"));
}

}  // namespace
