// At most some hundred jobs wait in a list and leave it in another order. Remedy: pooled list nodes.
#pragma once
#include <list>
#include <type_traits>

#include <tarn/allocator.hpp>
#include "predictions/work.hpp"

namespace predictions::jobs {

struct job {
  std::uint64_t number, priority;
  char name[40];
};
template <bool Pooled>
using queue = std::list<job, std::conditional_t<Pooled, tarn::allocator<job>, std::allocator<job>>>;

template <bool Pooled>
[[gnu::noinline]] void add_job(queue<Pooled>& jobs, std::uint64_t number, numbers& random) {
  jobs.push_back({number, random.below(100), {}});
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  queue<Pooled> waiting;
  std::uint64_t sum = 0, number = 0;
  for (std::uint64_t round = 0; round < rounds * 100; ++round) {
    for (std::uint32_t jobs_left = random.below(30); jobs_left > 0 && waiting.size() < 300; --jobs_left)
      add_job<Pooled>(waiting, number++, random);
    for (std::uint32_t done = random.below(30); done > 0 && !waiting.empty(); --done) {
      const auto next = random.below(4) == 0 ? std::prev(waiting.end()) : waiting.begin();
      sum = sum * 31 + next->number + next->priority;
      waiting.erase(next);
    }
  }
  return sum;
}

}  // namespace predictions::jobs
