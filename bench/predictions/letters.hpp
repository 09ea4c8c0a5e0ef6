// Two threads write to each other: the receiver of a letter destroys it and sends another. Remedy: shared_pool.
#pragma once
#include <array>
#include <atomic>
#include <thread>

#include <tarn/shared_pool.hpp>
#include "predictions/work.hpp"

namespace predictions::letters {

struct letter {
  std::uint64_t number;
  char text[100];
};

inline tarn::shared_pool<letter>& pool() {
  static tarn::shared_pool<letter> one;
  return one;
}

template <bool Pooled>
[[gnu::noinline]] letter* write_letter(std::uint64_t number) {
  letter* const made = Pooled ? pool().create() : new letter;
  made->number = number;
  made->text[number % sizeof made->text] = 'x';
  return made;
}

using box = std::array<std::atomic<letter*>, 128>;

template <bool Pooled>
std::uint64_t exchange(box& from, box& to, std::uint64_t letters) {
  std::uint64_t sum = 0;
  for (std::uint64_t number = 0; number < letters; ++number) {
    std::atomic<letter*>& place = to[number % to.size()];
    while (place.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
    place.store(write_letter<Pooled>(number), std::memory_order_release);
    std::atomic<letter*>& other = from[number % from.size()];
    letter* got;
    while ((got = other.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    other.store(nullptr, std::memory_order_release);
    sum = sum * 31 + got->number;
    Pooled ? pool().destroy(got) : delete got;
  }
  return sum;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  static box one, other;
  std::uint64_t sum = 0;
  std::thread second([&] { sum = exchange<Pooled>(one, other, rounds * 1000); });
  const std::uint64_t own = exchange<Pooled>(other, one, rounds * 1000);
  second.join();
  return sum * 7 + own;
}

}  // namespace predictions::letters
