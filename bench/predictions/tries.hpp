// Completion of words: makes a tree by letters from a list of words, queries it, and drops it. Its nodes are large.
// Remedy: pooled nodes.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <tarn/pooled.hpp>
#include "predictions/work.hpp"

namespace predictions::tries {

struct plain {};

template <bool Pooled>
struct node : std::conditional_t<Pooled, tarn::pooled<node<Pooled>>, plain> {
  std::array<std::unique_ptr<node>, 26> next;
  std::uint32_t words = 0;
};

template <bool Pooled>
[[gnu::noinline]] void add_word(node<Pooled>& root, const std::string& word) {
  node<Pooled>* current = &root;
  for (const char letter : word) {
    auto& next = current->next[static_cast<std::size_t>(letter - 'a')];
    if (next == nullptr) next.reset(new node<Pooled>);
    current = next.get();
    ++current->words;
  }
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<std::string> words;
  for (int number = 0; number < 2000; ++number) {
    std::string& word = words.emplace_back();
    for (std::uint32_t left = 2 + random.below(6); left > 0; --left)
      word += static_cast<char>('a' + random.below(left > 4 ? 26 : 8));
  }
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    node<Pooled> root;
    for (int number = 0; number < 60; ++number) add_word(root, words[random.below(2000)]);
    for (const auto& child : root.next) sum = sum * 31 + (child == nullptr ? 0 : child->words);
  }
  return sum;
}

}  // namespace predictions::tries
