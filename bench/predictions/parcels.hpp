// One thread packs and two others unpack; sixty-four objects are handed over at a time. Remedy: shared_pool.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <tarn/shared_pool.hpp>
#include "predictions/work.hpp"

namespace predictions::parcels {

struct parcel {
  std::uint64_t number;
  char content[180];
};
using load = std::array<parcel*, 64>;

inline tarn::shared_pool<parcel>& pool() {
  static tarn::shared_pool<parcel> parcels;
  return parcels;
}

template <bool Pooled>
[[gnu::noinline]] parcel* pack(std::uint64_t number) {
  parcel* const created = Pooled ? pool().create() : new parcel;
  created->number = number;
  created->content[number % sizeof created->content] = static_cast<char>(number);
  return created;
}
template <bool Pooled>
[[gnu::noinline]] std::uint64_t unpack(parcel* received) {
  const std::uint64_t number = received->number;
  Pooled ? pool().destroy(received) : delete received;
  return number * number;
}

template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<load> waiting;
  bool is_over = false;
  std::atomic<std::uint64_t> sum = 0;
  const auto work = [&] {
    std::uint64_t own_sum = 0;
    for (std::unique_lock hold(lock);;) {
      changed.wait(hold, [&] { return is_over || !waiting.empty(); });
      if (waiting.empty()) break;
      const load taken = waiting.front();
      waiting.pop_front();
      hold.unlock();
      changed.notify_all();
      for (parcel* const received : taken) own_sum += unpack<Pooled>(received);
      hold.lock();
    }
    sum += own_sum;
  };
  std::thread first(work), second(work);
  for (std::uint64_t round = 0; round < rounds * 10; ++round) {
    load next;
    for (std::size_t index = 0; index < next.size(); ++index) next[index] = pack<Pooled>(round * 64 + index);
    std::unique_lock hold(lock);
    changed.wait(hold, [&] { return waiting.size() < 16; });
    waiting.push_back(next);
    hold.unlock();
    changed.notify_all();
  }
  {
    const std::lock_guard hold(lock);
    is_over = true;
  }
  changed.notify_all();
  first.join();
  second.join();
  return sum;
}

}  // namespace predictions::parcels
