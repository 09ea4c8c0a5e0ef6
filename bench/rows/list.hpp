// Many blocks at once: a list built and deleted (source 4), and blocks freed in random order.
#pragma once
#include <array>
#include <numeric>
#include <utility>

#include "../work.hpp"

namespace bench {

/// A linked list of Count nodes of two words, made by new, then walked and deleted. Unit: one node.
template <class Front, std::size_t Count>
std::uint64_t list(const share& own_share) {
  struct node {
    std::uint64_t value;
    node* next;
  };
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    node* head = nullptr;
    for (std::size_t k = 0; k < Count; ++k) {
      auto* created = static_cast<node*>(front.template create<sizeof(node)>());
      created->value = i + k;
      created->next = head;
      keep(created);
      head = created;
    }
    while (head != nullptr) {
      node* const first = head;
      head = first->next;
      sum += first->value;
      front.template destroy<sizeof(node)>(first);
    }
  }
  return sum;
}

/// A fixed random order of 0 .. Count-1, the same in every run.
template <std::size_t Count>
const std::array<std::uint32_t, Count>& random_order() {
  static const auto shuffled = [] {
    std::array<std::uint32_t, Count> order;
    std::iota(order.begin(), order.end(), 0u);
    random_numbers random(1);
    for (std::uint32_t left = Count; left > 1; --left)
      std::swap(order[left - 1], order[draw_below(random.next(), left)]);
    return order;
  }();
  return shuffled;
}

/// Count blocks allocated, then freed in random order. Unit: one block.
template <class Front, std::size_t Size, std::size_t Count>
std::uint64_t scatter(const share& own_share) {
  static std::array<void*, Count> blocks;
  const auto& order = random_order<Count>();
  Front front;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    for (std::size_t k = 0; k < Count; ++k) {
      blocks[k] = front.template make<Size>();
      mark(blocks[k], i + k);
    }
    for (const std::uint32_t k : order) {
      sum += marked(blocks[k]);
      front.template unmake<Size>(blocks[k]);
    }
  }
  return sum;
}

}  // namespace bench
