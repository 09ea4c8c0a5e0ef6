#include "base/text.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace {

using tarn::base::text;
using tarn::base::text_buffer;

TEST(text, appends_in_order) {
  text_buffer<64> line;
  line.append("heap ").append('"').append("parser").append('"').append(": ").decimal(42);
  EXPECT_EQ(line.view(), "heap \"parser\": 42");
  EXPECT_FALSE(line.is_truncated());
}

TEST(text, writes_numbers_as_printf_does) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const std::uint64_t number = random() >> (round % 64);
    text_buffer<80> line;
    line.decimal(number).append(' ').hex(number).append(' ').decimal(number, 24);
    char expected[80];
    std::snprintf(expected, sizeof expected, "%lu 0x%lx %24lu", number, number, number);
    ASSERT_EQ(line.view(), std::string_view(expected));
  }
}

TEST(text, writes_the_ends_of_the_range) {
  text_buffer<128> line;
  line.decimal(0).append(' ').hex(0).append(' ').decimal(std::numeric_limits<std::uint64_t>::max()).append(' ');
  line.hex(std::numeric_limits<std::uint64_t>::max()).append(' ').pointer(nullptr).append(' ').decimal(123, 2);
  EXPECT_EQ(line.view(), "0 0x0 18446744073709551615 0xffffffffffffffff 0x0 123");
}

TEST(text, drops_what_does_not_fit_and_says_so) {
  char storage[8] = {'#', '#', '#', '#', '#', '#', '#', '#'};
  text line(storage, 6);
  line.append("abcd");
  EXPECT_FALSE(line.is_truncated());
  line.append("efgh").decimal(99).hex(1).append('x').pad_to(20).json_string("y").append_escaped("\n");
  EXPECT_EQ(line.view(), "abcdef");
  EXPECT_TRUE(line.is_truncated());
  EXPECT_EQ(storage[6], '#');
  EXPECT_EQ(storage[7], '#');
  line.clear();
  EXPECT_EQ(line.view(), "");
  EXPECT_FALSE(line.is_truncated());
}

TEST(text, holds_exactly_its_capacity) {
  char storage[4];
  text line(storage, sizeof storage);
  line.append("abcd");
  EXPECT_EQ(line.view(), "abcd");
  EXPECT_FALSE(line.is_truncated());
}

TEST(text, escapes_hostile_bytes) {
  text_buffer<256> line;
  line.append_escaped(std::string_view("a\n\x1b[2J\0\\\xff~", 10));
  EXPECT_EQ(line.view(), "a\\x0a\\x1b[2J\\x00\\\\\\xff~");
}

TEST(text, shortens_a_long_escaped_string) {
  text_buffer<256> line;
  line.append_escaped("abcdef", 5).append(' ').append_escaped("abcde", 5);
  EXPECT_EQ(line.view(), "abcde... abcde");
}

TEST(text, makes_valid_json_of_any_bytes) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  text_buffer<2048> line;
  line.json_string(bytes);
  const std::string read = nlohmann::json::parse(line.view()).get<std::string>();
  std::string expected;  // each byte as the code point of the same number, in UTF-8
  for (int byte = 0; byte < 256; ++byte) {
    if (byte < 0x80) {
      expected.push_back(static_cast<char>(byte));
    } else {
      expected.push_back(static_cast<char>(0xc0 | (byte >> 6)));
      expected.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  EXPECT_EQ(read, expected);
}

TEST(text, pads_from_the_start_of_the_line) {
  text_buffer<64> line;
  line.append("first\nab").pad_to(5).append('|').pad_to(3).append('|');
  EXPECT_EQ(line.view(), "first\nab   ||");
}

TEST(text, writes_everything_at_once_and_keeps_errno) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  text_buffer<64> line;
  line.append("one line\n");
  errno = ERANGE;
  line.write_to(ends[1]);
  line.write_to(-1);
  EXPECT_EQ(errno, ERANGE);
  ::close(ends[1]);
  char read[64] = {};
  EXPECT_EQ(::read(ends[0], read, sizeof read), 9);
  EXPECT_STREQ(read, "one line\n");
  ::close(ends[0]);
}

}  // namespace
