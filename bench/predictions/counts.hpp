// Counts the words of a text in a tree that is dropped with the text. Remedy: pooled tree nodes.
#pragma once
#include <functional>
#include <map>
#include <type_traits>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::counts {

using pair = std::pair<const std::uint64_t, std::uint64_t>;
template <bool Pooled>
using table = std::map<std::uint64_t, std::uint64_t, std::less<>,
                       std::conditional_t<Pooled, tarn::allocator<pair>, std::allocator<pair>>>;

template <bool Pooled>
[[gnu::noinline]] void count_words(table<Pooled>& counts, numbers& random) {
  for (int word = 0; word < 300; ++word) ++counts[random.next_below(400)];
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    table<Pooled> counts;
    count_words<Pooled>(counts, random);
    sum = sum * 31 + counts.size() + counts.begin()->second;
  }
  return sum;
}

}  // namespace predictions::counts
