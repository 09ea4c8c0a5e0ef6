// Marks the numbers of a set in a table that is made anew each time. Remedy: hoist the table.
#pragma once
#include <vector>

#include "predictions/work.hpp"

namespace predictions::counters {

inline std::uint64_t mark(std::vector<unsigned char>& table, numbers& random) {
  table.resize(300 + random.below(300));
  for (int left = 20; left > 0; --left) ++table[random.below(static_cast<std::uint32_t>(table.size()))];
  std::uint64_t several = 0;
  for (const unsigned char mark_count : table) several += mark_count > 1 ? 1 : 0;
  return several;
}

[[gnu::noinline]] inline std::uint64_t look(numbers& random) {
  std::vector<unsigned char> table;
  return mark(table, random);
}
[[gnu::noinline]] inline std::uint64_t look(numbers& random, std::vector<unsigned char>& kept) {
  kept.clear();
  return mark(kept, random);
}

template <bool Hoisted>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<unsigned char> kept;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round)
    sum = sum * 31 + (Hoisted ? look(random, kept) : look(random));
  return sum;
}

}  // namespace predictions::counters
