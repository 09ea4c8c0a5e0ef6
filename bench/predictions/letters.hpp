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
  static tarn::shared_pool<letter> letters;
  return letters;
}

template <bool Pooled>
[[gnu::noinline]] letter* write_letter(std::uint64_t number) {
  letter* const created = Pooled ? pool().create() : new letter;
  created->number = number;
  created->text[number % sizeof created->text] = 'x';
  return created;
}

using box = std::array<std::atomic<letter*>, 128>;

template <bool Pooled>
std::uint64_t exchange(box& inbox, box& outbox, std::uint64_t letters) {
  std::uint64_t sum = 0;
  for (std::uint64_t number = 0; number < letters; ++number) {
    std::atomic<letter*>& place = outbox[number % outbox.size()];
    while (place.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
    place.store(write_letter<Pooled>(number), std::memory_order_release);
    std::atomic<letter*>& place_read = inbox[number % inbox.size()];
    letter* got;
    while ((got = place_read.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    place_read.store(nullptr, std::memory_order_release);
    sum = sum * 31 + got->number;
    Pooled ? pool().destroy(got) : delete got;
  }
  return sum;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  static box first_box, second_box;
  std::uint64_t sum = 0;
  std::thread second([&] { sum = exchange<Pooled>(first_box, second_box, rounds * 1000); });
  const std::uint64_t own_sum = exchange<Pooled>(second_box, first_box, rounds * 1000);
  second.join();
  return sum * 7 + own_sum;
}

}  // namespace predictions::letters
