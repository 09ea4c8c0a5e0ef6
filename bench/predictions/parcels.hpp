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
  static tarn::shared_pool<parcel> one;
  return one;
}

template <bool Pooled>
[[gnu::noinline]] parcel* pack(std::uint64_t number) {
  parcel* const made = Pooled ? pool().create() : new parcel;
  made->number = number;
  made->content[number % sizeof made->content] = static_cast<char>(number);
  return made;
}
template <bool Pooled>
[[gnu::noinline]] std::uint64_t unpack(parcel* one) {
  const std::uint64_t number = one->number;
  Pooled ? pool().destroy(one) : delete one;
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
    std::uint64_t own = 0;
    for (std::unique_lock hold(lock);;) {
      changed.wait(hold, [&] { return is_over || !waiting.empty(); });
      if (waiting.empty()) break;
      const load taken = waiting.front();
      waiting.pop_front();
      hold.unlock();
      changed.notify_all();
      for (parcel* const each : taken) own += unpack<Pooled>(each);
      hold.lock();
    }
    sum += own;
  };
  std::thread first(work), second(work);
  for (std::uint64_t round = 0; round < rounds * 10; ++round) {
    load next;
    for (std::size_t at = 0; at < next.size(); ++at) next[at] = pack<Pooled>(round * 64 + at);
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
