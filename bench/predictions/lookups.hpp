// A cache of answers that evicts the least recently used: a list and a table of thousands of entries, one replaced at
// a time. Remedy: pooled nodes of both.
#pragma once
#include <functional>
#include <list>
#include <type_traits>
#include <unordered_map>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::lookups {

struct answer {
  std::uint64_t key, words[6];
};
template <class T, bool Pooled>
using allocator_for = std::conditional_t<Pooled, tarn::allocator<T>, std::allocator<T>>;

template <bool Pooled>
class cache {
  using order = std::list<answer, allocator_for<answer, Pooled>>;
  using entry = std::pair<const std::uint64_t, typename order::iterator>;

 public:
  [[gnu::noinline]] const answer& find(std::uint64_t key) {
    if (const auto position = by_key_.find(key); position != by_key_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, position->second);
      return by_use_.front();
    }
    return fill(key);
  }

 private:
  [[gnu::noinline]] const answer& fill(std::uint64_t key) {
    if (by_key_.size() == 4000) {
      by_key_.erase(by_use_.back().key);
      by_use_.pop_back();
    }
    by_use_.push_front({key, {key * 7, key * 11, key * 13, 0, 0, 0}});
    by_key_.emplace(key, by_use_.begin());
    return by_use_.front();
  }

  order by_use_;
  std::unordered_map<std::uint64_t, typename order::iterator, std::hash<std::uint64_t>, std::equal_to<>,
                     allocator_for<entry, Pooled>>
      by_key_;
};

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  cache<Pooled> answers;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 100; ++round) {
    // Some keys are asked for often.
    const std::uint64_t key = random.below(3) == 0 ? random.below(1000) : random.below(50000);
    sum = sum * 31 + answers.find(key).words[key % 3];
  }
  return sum;
}

}  // namespace predictions::lookups
