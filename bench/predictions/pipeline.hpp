// One thread makes messages, another one takes them. Remedy: shared_pool for the messages.
#pragma once
#include <array>
#include <atomic>
#include <thread>

#include <tarn/shared_pool.hpp>
#include "predictions/work.hpp"

namespace predictions::pipeline {

struct message {
  std::uint64_t number;
  std::uint64_t payload[10];
};

inline tarn::shared_pool<message>& pool() {
  static tarn::shared_pool<message> messages;
  return messages;
}

template <bool Pooled>
[[gnu::noinline]] message* make_message(std::uint64_t number) {
  message* const created = Pooled ? pool().create() : new message;
  created->number = number;
  return created;
}
template <bool Pooled>
[[gnu::noinline]] void drop_message(message* received) {
  Pooled ? pool().destroy(received) : delete received;
}

// Uses a ring of one producer and one consumer; a thread that finds nothing to do yields.
template <bool Pooled>
std::uint64_t run(std::uint64_t rounds) {
  constexpr std::size_t places = 256;
  static std::array<std::atomic<message*>, places> ring;
  const std::uint64_t messages = rounds * 1000;
  std::thread producer([&] {
    for (std::uint64_t number = 0; number < messages; ++number) {
      message* const created = make_message<Pooled>(number);
      std::atomic<message*>& slot = ring[number % places];
      while (slot.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
      slot.store(created, std::memory_order_release);
    }
  });
  std::uint64_t sum = 0;
  for (std::uint64_t number = 0; number < messages; ++number) {
    std::atomic<message*>& slot = ring[number % places];
    message* received;
    while ((received = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    slot.store(nullptr, std::memory_order_release);
    sum = sum * 31 + received->number;
    drop_message<Pooled>(received);
  }
  producer.join();
  return sum;
}

}  // namespace predictions::pipeline
