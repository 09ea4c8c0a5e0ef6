#include <tarn/tokens.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using parts = std::vector<std::string_view>;

parts copy(const tarn::tokens& list) { return {list.begin(), list.end()}; }

TEST(tokens, split_keeps_empty_parts) {
  EXPECT_EQ(copy(tarn::split("a,b,c", ',')), (parts{"a", "b", "c"}));
  EXPECT_EQ(copy(tarn::split(",a,,b,", ',')), (parts{"", "a", "", "b", ""}));
  EXPECT_EQ(copy(tarn::split("", ',')), (parts{""}));
  EXPECT_EQ(copy(tarn::split(",", ',')), (parts{"", ""}));
  EXPECT_EQ(copy(tarn::split(std::string_view("a\0b", 3), '\0')), (parts{"a", "b"}));
}

TEST(tokens, words_leave_them_out) {
  EXPECT_EQ(copy(tarn::split_words("  GET\t/path  HTTP/1.1\r\n")), (parts{"GET", "/path", "HTTP/1.1"}));
  EXPECT_EQ(copy(tarn::split_words("one")), (parts{"one"}));
  EXPECT_EQ(copy(tarn::split_words("")), (parts{}));
  EXPECT_EQ(copy(tarn::split_words(" \t ")), (parts{}));
  EXPECT_EQ(copy(tarn::split_words("a;b,c", ",;")), (parts{"a", "b", "c"}));
  EXPECT_EQ(copy(tarn::split_words("a b", "")), (parts{"a b"}));
}

TEST(tokens, are_views_into_the_text) {
  const std::string text = "key=value";
  const auto pair = tarn::split(text, '=');
  ASSERT_EQ(pair.size(), 2u);
  EXPECT_EQ(pair[1].data(), text.data() + 4);
  EXPECT_FALSE(pair.empty());
}

TEST(tokens, nest) {
  std::size_t sum = 0;
  for (const std::string_view row : tarn::split("a b;c d e;f", ';')) {
    for (const std::string_view word : tarn::split_words(row)) sum += word.size();
  }
  EXPECT_EQ(sum, 6u);
}

TEST(tokens, use_the_list_again) {
  const std::string_view* before;
  {
    const auto long_list = tarn::split("1 2 3 4 5 6 7 8 9", ' ');
    before = long_list.begin();
  }
  const auto parts_again = tarn::split("a b c", ' ');
  EXPECT_EQ(parts_again.begin(), before);
  EXPECT_EQ(copy(parts_again), (parts{"a", "b", "c"}));
}

}  // namespace
