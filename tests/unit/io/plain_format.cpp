// The quick path of formatted lines gives the same bytes as {fmt}.
#include <tarn/io/plain_format.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <random>
#include <string>
#include <string_view>

namespace {

using tarn::io::message_format;
using tarn::io::detail::format_message;

struct pair_of_numbers {
  int first, second;
};

}  // namespace

template <>
struct fmt::formatter<pair_of_numbers> {
  static constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const pair_of_numbers& written, Context& context) const {
    return fmt::format_to(context.out(), "<{} {}>", written.first, written.second);
  }
};

namespace {

// Formats into every room around the whole result, and compares. Nothing behind the room may change.
template <class... Arguments>
void compare(std::string_view text, const Arguments&... arguments) {
  const std::string expected = fmt::vformat(text, fmt::make_format_args(arguments...));
  const message_format<const Arguments&...> format = fmt::runtime(text);
  constexpr std::size_t surplus = 20 * (sizeof...(arguments) + 2);  // more than the bound may exceed the result by
  for (std::size_t room = 0; room <= expected.size() + surplus; ++room) {
    std::string buffer(room + 32, '#');
    ASSERT_EQ(format_message<const Arguments&...>(buffer.data(), room, format, arguments...), expected.size());
    const std::size_t size = std::min(room, expected.size());
    ASSERT_EQ(std::string_view(buffer).substr(0, size), std::string_view(expected).substr(0, size)) << text;
    ASSERT_EQ(std::string_view(buffer).substr(room), std::string(32, '#')) << text;
  }
}

template <class... Arguments>
bool is_plain(std::string_view text, const Arguments&... arguments) {
  static_assert(sizeof...(arguments) < 100);
  return message_format<const Arguments&...>(fmt::runtime(text)).is_plain();
}

TEST(plain_format, writes_what_fmt_writes) {
  compare("");
  compare("a text without arguments, of more than eight bytes");
  compare("{}", 0);
  compare("{}{}{}", 1, "", std::string("x"));
  compare("served {} in {} us for {}", std::string("/some/path"), 12345, std::string_view("someone"));
  compare("{} {} {} {}", true, false, 'c', '\0');
  compare("{} {}", std::numeric_limits<int>::min(), std::numeric_limits<unsigned>::max());
  compare("{} {}", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::uint64_t>::max());
  compare("{} {} {}", static_cast<short>(-3), static_cast<unsigned char>(200), static_cast<signed char>(-1));
  compare("y{}yyyyyyy{}zzzzzzz|||||||~~~~~~~", 1, 2);
  compare("\xff\x80\xfb\xfd{}\x7a\x7c", 7);
  char letters[] = "changeable";
  char* const pointer = letters;
  compare("{} {} {} {}", "literal", letters, pointer, static_cast<const char*>(pointer));
  compare("{} {}", std::pmr::string("with a resource"), fmt::string_view("of {fmt}"));
}

TEST(plain_format, writes_texts_and_literals_of_every_length) {
  std::string text;
  for (int size = 0; size < 50; ++size, text += static_cast<char>('a' + size % 26)) {
    compare("{}", text);
    compare(text + "{}" + text, 1);
    compare("{}" + text + "{}", text, text.c_str());
  }
}

TEST(plain_format, writes_numbers_of_every_length) {
  std::uint64_t power = 1;
  for (unsigned digits = 0; digits < 20; ++digits, power *= 10) {
    for (const std::uint64_t number : {power - 1, power, power + 1, power * 9, power * 5 + power / 3}) {
      compare("{} {} {}", number, static_cast<std::int64_t>(number), -static_cast<std::int64_t>(number));
      compare("{} {}", static_cast<std::uint32_t>(number), static_cast<std::int16_t>(number));
    }
  }
  for (unsigned bit = 0; bit < 64; ++bit) {
    compare("{} {}", std::uint64_t{1} << bit, (std::uint64_t{1} << bit) - 1);
  }
}

TEST(plain_format, is_divided_when_it_is_compiled) {
  static constexpr message_format<int, const char*> format("one {} \"two\" {}");
  static_assert(format.is_plain() && format.may_need_escape());
  static_assert(format.literal(0) == 4 && format.literal(1) == 7 && format.literal(2) == 0);
  static_assert(!message_format<int>("{:x}").is_plain() && !message_format<double>("{}").is_plain());
  static_assert(!message_format<int, int>("{} and no more").is_plain());
  EXPECT_EQ(std::string_view(format.text().data(), format.text().size()), "one {} \"two\" {}");
}

TEST(plain_format, leaves_everything_else_to_fmt) {
  compare("{{}} {{{}}}", 1);
  compare("12345678}}90{{", 1);
  compare("{:>8} {:x} {:.2f} {:02}", 1, 255, 1.5, 3);
  compare("{1} {0}", "a", "b");
  compare("{} {} {}", 1.5, 2.25f, 1.0L);
  compare("{}", static_cast<const void*>(nullptr));
  compare("{} {}", pair_of_numbers{1, 2}, 3);
  __extension__ const __int128 wide = -1;
  compare("{}", wide);
  EXPECT_TRUE(is_plain("{} is {}", 1, "2"));
  EXPECT_FALSE(is_plain("{} is {:x}", 1, 2));
  EXPECT_FALSE(is_plain("{}", 1.5));
  EXPECT_FALSE(is_plain("{} and no more", 1, 2));
  EXPECT_FALSE(is_plain("{}", wide));
}

TEST(plain_format, an_invalid_format_is_an_error_of_fmt) {
  char buffer[64];
  for (const std::string_view format : {"{", "}", "{} {}", "{} }", "12345678{", "{}{", "{2}", "{x}"}) {
    const int number = 1;
    EXPECT_THROW(format_message<const int&>(buffer, sizeof buffer, fmt::runtime(format), number), fmt::format_error)
        << format;
  }
  const char* const nothing = nullptr;
  EXPECT_THROW(format_message<const char* const&>(buffer, sizeof buffer, "{}", nothing), fmt::format_error);
}

TEST(plain_format, agrees_with_fmt_about_random_formats) {
  std::minstd_rand random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string format;
    for (std::size_t parts = random() % 8; parts != 0; --parts) {
      const char* const choices[] = {"{}", "{}", "a", "y", "{{", "}}", "zz|~", "some text ", "\x7f\x80"};
      format += choices[random() % std::size(choices)];
    }
    const int number = static_cast<int>(random()) >> random() % 31;
    const std::string text(random() % 20, 'x');
    compare(format, number, text, -number, true, text, 'c', 1U, number);
  }
}

}  // namespace
