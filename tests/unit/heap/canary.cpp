#include "memory/heap/canary.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace {

namespace canary = tarn::heaps::canary;

TEST(canary, finds_every_changed_byte_at_every_place) {
  canary::draw();
  alignas(16) char memory[64];
  for (int start = 0; start < 20; ++start) {
    for (int end = start; end < 40; ++end) {
      std::memset(memory, 0, sizeof memory);
      char* const first = memory + start;
      char* const last = memory + end;
      canary::fill(first, last);
      EXPECT_EQ(canary::first_changed(first, last), last);
      EXPECT_EQ(canary::last_changed(first, last), first);
      for (int out = 0; out < start; ++out) EXPECT_EQ(memory[out], 0);
      for (int out = end; out < 64; ++out) EXPECT_EQ(memory[out], 0);
      for (char* changed = first; changed != last; ++changed) {
        *changed = static_cast<char>(*changed ^ 1);
        EXPECT_EQ(canary::first_changed(first, last), changed);
        EXPECT_EQ(canary::last_changed(first, last), changed + 1);
        *changed = static_cast<char>(*changed ^ 1);
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
  std::set<std::uint64_t> canaries;
  for (const char& byte : memory) {
    for (std::uint64_t number = 0; number < 3; ++number) canaries.insert(canary::word_for(&byte, number));
    canaries.insert(canary::sum(&byte, 1, 2, 3));
    canaries.insert(canary::sum(&byte, 2, 1, 3));
    canaries.insert(canary::sum(&byte, 1, 3, 2));
  }
  EXPECT_EQ(canaries.size(), 12u);
}

TEST(canary, first_other_stops_at_the_first) {
  std::vector<char> memory(100, 'x');
  char* const end = memory.data() + memory.size();
  EXPECT_EQ(canary::first_other(memory.data(), end, 'x'), end);
  for (char& byte : memory) {
    byte = 'y';
    EXPECT_EQ(canary::first_other(memory.data(), end, 'x'), &byte);
    byte = 'x';
  }
}

}  // namespace
