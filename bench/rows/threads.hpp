// Threads that come and go.
#pragma once
#include <pthread.h>
#include <array>
#include <cstdlib>

#include "../work.hpp"

namespace bench {

/// Starts a thread and waits for its end. Not std::thread, which allocates.
inline void run_thread(void* (*body)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, body, argument) != 0) std::abort();
  pthread_join(thread, nullptr);
}

/// A thread is started, does 100 pairs of 64 bytes, ends and is joined. Unit: one thread.
template <class Front>
std::uint64_t short_thread(const share& own_share) {
  std::uint64_t sum = 0;
  const auto body = [](void* result) -> void* {
    Front front;
    for (std::uint64_t k = 0; k < 100; ++k) {
      void* block = front.template make<64>();
      mark(block, k);
      *static_cast<std::uint64_t*>(result) += marked(block);
      front.template unmake<64>(block);
    }
    return nullptr;
  };
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) run_thread(body, &sum);
  return sum;
}

/// A thread is started, allocates 100 blocks of 64 bytes and ends; its parent frees them. Unit: one thread.
template <class Front>
std::uint64_t orphans(const share& own_share) {
  using blocks = std::array<void*, 100>;
  Front front;
  blocks left{};
  std::uint64_t sum = 0;
  const auto body = [](void* argument) -> void* {
    Front front_of_thread;
    std::uint64_t k = 0;
    for (void*& block : *static_cast<blocks*>(argument)) {
      block = front_of_thread.template make<64>();
      mark(block, k++);
    }
    return nullptr;
  };
  for (std::uint64_t i = 0; i < own_share.repetitions; ++i) {
    run_thread(body, &left);
    for (void* block : left) {
      sum += marked(block);
      front.template unmake<64>(block);
    }
  }
  return sum;
}

}  // namespace bench
