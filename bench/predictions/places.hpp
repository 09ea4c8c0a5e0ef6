// Lists the positions of a letter in a text, then counts them. Remedy: reserve the list.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "predictions/work.hpp"

namespace predictions::places {

[[gnu::noinline]] inline std::uint64_t find_all(std::string_view text, char letter, std::size_t reserved) {
  std::vector<std::uint32_t> positions;
  positions.reserve(reserved);
  for (std::size_t position = text.find(letter); position != text.npos; position = text.find(letter, position + 1))
    positions.push_back(static_cast<std::uint32_t>(position));
  std::uint64_t sum = positions.size();
  for (const std::uint32_t position : positions) sum = sum * 3 + position;
  return sum;
}

template <bool Reserved>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::string text;
  for (int left = 2000; left > 0; --left) text += static_cast<char>('a' + random.below(16));
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round)
    sum = sum * 31 + find_all(text, static_cast<char>('a' + random.below(16)), Reserved ? 256 : 0);
  return sum;
}

}  // namespace predictions::places
