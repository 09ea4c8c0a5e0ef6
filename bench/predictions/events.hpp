// A simulation: thousands of events wait in a queue, and each makes the next one. Remedy: pooled events.
#pragma once
#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include <tarn/pooled.hpp>
#include "predictions/work.hpp"

namespace predictions::events {

struct plain {};

template <bool Pooled>
struct event : std::conditional_t<Pooled, tarn::pooled<event<Pooled>>, plain> {
  std::uint64_t time = 0;
  std::uint32_t station = 0, customer = 0;
  std::uint64_t note[4] = {};
};

template <bool Pooled>
[[gnu::noinline]] std::unique_ptr<event<Pooled>> make_event(std::uint64_t time, numbers& random) {
  std::unique_ptr<event<Pooled>> created(new event<Pooled>);
  created->time = time + 1 + random.next_below(1000);
  created->station = random.next_below(64);
  created->customer = random.next_below(1'000'000);
  return created;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  const auto later = [](const auto& a, const auto& b) { return a->time > b->time; };
  numbers random;
  std::vector<std::unique_ptr<event<Pooled>>> queue;
  for (int waiting = 0; waiting < 3000; ++waiting) {
    queue.push_back(make_event<Pooled>(0, random));
    std::push_heap(queue.begin(), queue.end(), later);
  }
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const std::uint64_t now = queue.back()->time;
    sum = sum * 31 + queue.back()->station + queue.back()->customer;
    queue.pop_back();
    queue.push_back(make_event<Pooled>(now, random));
    std::push_heap(queue.begin(), queue.end(), later);
  }
  return sum;
}

}  // namespace predictions::events
