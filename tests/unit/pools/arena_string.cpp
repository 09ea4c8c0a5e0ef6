#include <tarn/arena_string.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "support/upstream.hpp"

namespace {

using tarn::arena;
using tarn::arena_string;

TEST(arena_string, appends) {
  arena request;
  arena_string page(request);
  EXPECT_TRUE(page.empty());
  EXPECT_EQ(page.view(), "");
  page += "one";
  page += ' ';
  page.append(3, '-').append(" two").append("").append(0, 'x');
  std::copy_n(" three", 6, std::back_inserter(page));
  EXPECT_EQ(page.view(), "one --- two three");
  EXPECT_STREQ(page.c_str(), "one --- two three");
  EXPECT_EQ(page.size(), 17u);
  page.clear();
  EXPECT_EQ(page.append("again").view(), "again");
  EXPECT_EQ(arena_string(request, "begun").view(), "begun");
}

TEST(arena_string, grows_in_place_to_the_end_of_the_chunk) {
  arena request({.first_chunk = 100'000});
  arena_string page(request);
  page += 'x';
  const char* const start = page.data();
  for (int piece = 0; piece < 1000; ++piece) {
    page += "ninety bytes of text, of which there are about a thousand in the chunk, so they just fit in";
  }
  EXPECT_EQ(page.data(), start);
  EXPECT_EQ(request.statistics().chunks, 1u);
}

TEST(arena_string, is_copied_when_something_stands_behind_it) {
  arena request;
  arena_string page(request, "some");
  page.finish();
  static_cast<void>(request.allocate(8));
  const char* const start = page.data();
  page += " text";
  EXPECT_NE(page.data(), start);
  EXPECT_EQ(page.view(), "some text");
}

TEST(arena_string, two_may_grow_by_turns) {
  arena request;
  arena_string first(request), second(request);
  std::string expected;
  for (int piece = 0; piece < 2000; ++piece) {
    first += static_cast<char>('a' + piece % 26);
    second += static_cast<char>('a' + piece % 26);
    expected += static_cast<char>('a' + piece % 26);
  }
  EXPECT_EQ(first.view(), expected);
  EXPECT_EQ(second.view(), expected);
  EXPECT_TRUE(request.is_valid());
}

TEST(arena_string, finish_gives_the_rest_back) {
  arena request;
  arena_string page(request);
  page.reserve(1000);
  page += "short";
  EXPECT_EQ(page.finish(), "short");
  EXPECT_EQ(request.statistics().used_bytes, 16 + tarn::detail::arena_gap);
  EXPECT_EQ(request.copy("next").data(), page.data() + 16 + tarn::detail::arena_gap);
  EXPECT_EQ(arena_string(request).finish(), "");
}

TEST(arena_string, less_than_twice_is_enough_at_the_limit) {
  support::upstream up;
  arena request({.upstream = &up, .first_chunk = 1024, .limit = 8192});
  arena_string page(request);
  EXPECT_THROW(
      {
        for (;;) page += "sixteen bytes...";
      },
      std::bad_alloc);
  EXPECT_GT(page.size(), 3500u);
  EXPECT_EQ(page.size() % 16, 0u) << "the text is unchanged when it cannot grow";
  EXPECT_EQ(page.view().substr(page.size() - 16), "sixteen bytes...");
  EXPECT_THROW(page.reserve(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW(page.append(std::numeric_limits<std::size_t>::max() - 5, 'x'), std::bad_alloc);
}

TEST(arena_string, moves) {
  arena request;
  arena_string page(request, "text");
  arena_string moved(std::move(page));
  EXPECT_EQ(moved.view(), "text");
  EXPECT_EQ(page.view(), "");  // NOLINT: the promise is an empty string
  page += "new";
  EXPECT_EQ(page.view(), "new");
}

}  // namespace
