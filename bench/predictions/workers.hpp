// Two threads each have their own orders, sort them by price into a set, scan it, and drop it. Remedy: pooled set
// nodes.
#pragma once
#include <array>
#include <functional>
#include <set>
#include <thread>
#include <type_traits>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::workers {

struct order {
  std::uint32_t price, number;
  std::uint64_t amount;
  bool operator<(const order& right) const {
    return price != right.price ? price < right.price : number < right.number;
  }
};
template <bool Pooled>
using book =
    std::multiset<order, std::less<>, std::conditional_t<Pooled, tarn::allocator<order>, std::allocator<order>>>;

template <bool Pooled>
[[gnu::noinline]] void take_orders(book<Pooled>& orders, numbers& random) {
  for (std::uint32_t number = 0; number < 40; ++number)
    orders.insert({random.next_below(500), number, random.next_below(1000)});
}

template <bool Pooled>
std::uint64_t work(std::uint64_t rounds, std::uint32_t first) {
  numbers random;
  std::uint64_t sum = first;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    book<Pooled> orders;
    take_orders<Pooled>(orders, random);
    std::uint64_t rank = 0;
    for (const order& entry : orders) sum += entry.amount * ++rank;
  }
  return sum;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  std::array<std::uint64_t, 2> sums{};
  std::thread second_thread([&] { sums[1] = work<Pooled>(rounds, 1); });
  sums[0] = work<Pooled>(rounds, 0);
  second_thread.join();
  return sums[0] * 31 + sums[1];
}

}  // namespace predictions::workers
