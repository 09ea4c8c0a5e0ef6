// Characters become UTF-8 as the Unicode standard says.
#include "profiler/format/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

std::string encoded(std::uint32_t character) {
  std::string text;
  tarn::format::encode_utf8(character, [&](std::uint32_t byte) { text += static_cast<char>(byte); });
  return text;
}

TEST(utf8, has_one_to_four_bytes_a_character) {
  EXPECT_EQ(encoded('a'), "a");
  EXPECT_EQ(encoded(0x7f), "\x7f");
  EXPECT_EQ(encoded(0x80), "\xc2\x80");
  EXPECT_EQ(encoded(0xe9), "\xc3\xa9");
  EXPECT_EQ(encoded(0x7ff), "\xdf\xbf");
  EXPECT_EQ(encoded(0x800), "\xe0\xa0\x80");
  EXPECT_EQ(encoded(0x65e5), "\xe6\x97\xa5");
  EXPECT_EQ(encoded(0xffff), "\xef\xbf\xbf");
  EXPECT_EQ(encoded(0x10000), "\xf0\x90\x80\x80");
  EXPECT_EQ(encoded(0x10ffff), "\xf4\x8f\xbf\xbf");
}

TEST(utf8, has_no_bytes_for_half_of_a_pair) {
  for (const std::uint32_t character : {0xd800U, 0xdce9U, 0xdfffU, 0x110000U})
    EXPECT_EQ(encoded(character), "\xef\xbf\xbd");
  EXPECT_EQ(encoded(0xd7ff), "\xed\x9f\xbf");
  EXPECT_EQ(encoded(0xe000), "\xee\x80\x80");
}

}  // namespace
