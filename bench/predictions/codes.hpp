// Computes Huffman codes for one block of text after another, by a queue of shared nodes. Remedy: pooled nodes, which
// are made on the thread's own heap with their counts.
#pragma once
#include <array>
#include <memory>
#include <queue>
#include <vector>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::codes {

struct node {
  std::uint64_t weight;
  std::uint32_t letter;
  std::shared_ptr<node> left, right;
};

template <bool Pooled>
[[gnu::noinline]] std::shared_ptr<node> make_node(std::uint64_t weight, std::uint32_t letter,
                                                  std::shared_ptr<node> left, std::shared_ptr<node> right) {
  if constexpr (Pooled) {
    return std::allocate_shared<node>(tarn::allocator<node>(), node{weight, letter, std::move(left), std::move(right)});
  } else {
    return std::make_shared<node>(node{weight, letter, std::move(left), std::move(right)});
  }
}

inline std::uint64_t bits_of(const node& tree, std::uint64_t depth) {
  if (tree.left == nullptr) return tree.weight * depth + tree.letter;
  return bits_of(*tree.left, depth + 1) + bits_of(*tree.right, depth + 1);
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  const auto heavier = [](const auto& a, const auto& b) {
    return a->weight != b->weight ? a->weight > b->weight : a->letter > b->letter;
  };
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::array<std::uint32_t, 96> counts{};
    for (int letter = 0; letter < 500; ++letter) ++counts[random.below(1 + random.below(96))];
    std::priority_queue<std::shared_ptr<node>, std::vector<std::shared_ptr<node>>, decltype(heavier)> queue(heavier);
    for (std::uint32_t letter = 0; letter < counts.size(); ++letter) {
      if (counts[letter] != 0) queue.push(make_node<Pooled>(counts[letter], letter, nullptr, nullptr));
    }
    for (std::uint32_t inner = 96; queue.size() > 1; ++inner) {
      std::shared_ptr<node> first = queue.top();
      queue.pop();
      std::shared_ptr<node> second = queue.top();
      queue.pop();
      const std::uint64_t weight = first->weight + second->weight;
      queue.push(make_node<Pooled>(weight, inner, std::move(first), std::move(second)));
    }
    sum = sum * 31 + bits_of(*queue.top(), 0);
  }
  return sum;
}

}  // namespace predictions::codes
