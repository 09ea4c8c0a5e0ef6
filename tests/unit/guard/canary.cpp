#include "guard/canary.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace {

namespace canary = tarn::guard::canary;

TEST(canary, finds_every_changed_byte_at_every_place) {
  canary::draw();
  alignas(16) char memory[64];
  for (int from = 0; from < 20; ++from) {
    for (int to = from; to < 40; ++to) {
      std::memset(memory, 0, sizeof memory);
      char* const first = memory + from;
      char* const last = memory + to;
      canary::fill(first, last);
      EXPECT_EQ(canary::first_changed(first, last), last);
      EXPECT_EQ(canary::last_changed(first, last), first);
      for (int out = 0; out < from; ++out) EXPECT_EQ(memory[out], 0);
      for (int out = to; out < 64; ++out) EXPECT_EQ(memory[out], 0);
      for (char* at = first; at != last; ++at) {
        *at = static_cast<char>(*at ^ 1);
        EXPECT_EQ(canary::first_changed(first, last), at);
        EXPECT_EQ(canary::last_changed(first, last), at + 1);
        *at = static_cast<char>(*at ^ 1);
      }
    }
  }
}

TEST(canary, has_neither_zeros_nor_text) {
  canary::draw();
  alignas(8) char memory[16];
  canary::fill(memory, memory + 16);
  for (const char byte : memory) EXPECT_NE(byte & 0x80, 0);
}

TEST(canary, words_and_sums_differ_by_place_and_contents) {
  canary::draw();
  const char memory[2] = {};
  std::set<std::uint64_t> words;
  for (const char& at : memory) {
    for (std::uint64_t number = 0; number < 3; ++number) words.insert(canary::word_for(&at, number));
    words.insert(canary::sum(&at, 1, 2, 3));
    words.insert(canary::sum(&at, 2, 1, 3));
    words.insert(canary::sum(&at, 1, 3, 2));
  }
  EXPECT_EQ(words.size(), 12u);
}

TEST(canary, first_other_stops_at_the_first) {
  std::vector<char> memory(100, 'x');
  char* const end = memory.data() + memory.size();
  EXPECT_EQ(canary::first_other(memory.data(), end, 'x'), end);
  for (char& at : memory) {
    at = 'y';
    EXPECT_EQ(canary::first_other(memory.data(), end, 'x'), &at);
    at = 'x';
  }
}

}  // namespace
