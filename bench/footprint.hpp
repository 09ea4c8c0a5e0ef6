// Measures whether memory goes back to the system: resident memory at a peak, after everything is freed, and during a
// second of light activity that follows.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "process.hpp"
#include "rows/threads.hpp"
#include "work.hpp"

namespace bench {

/// A list of blocks, linked through the blocks themselves, so that it costs no memory of its own.
struct linked_blocks {
  struct link {
    link* next;
    std::size_t size;
  };
  link* head = nullptr;

  /// Allocates blocks of 16 to 2,048 bytes until their sizes add up to `bytes`, and touches their pages.
  template <class Front>
  void grow(Front& front, std::size_t bytes, std::uint64_t seed) {
    random_numbers random(seed);
    while (bytes > 0) {
      const std::size_t size = std::min(bytes, 16 + draw_below(random.next(), 128) * 16);
      void* block = front.allocate(std::max(size, sizeof(link)));
      std::memset(block, 1, size);
      head = new (block) link{head, std::max(size, sizeof(link))};
      bytes -= size;
    }
  }

  template <class Front>
  void free_all(Front& front) {
    while (head != nullptr) {
      link* const block = head;
      head = block->next;
      front.deallocate(block, block->size);
    }
  }
};

/// Prints resident memory now and every 100 ms for one second, while 1,000 pairs run every 10 ms.
template <class Front>
void watch_light_activity(Front& front) {
  random_numbers random(7);
  const std::int64_t start = now_ns();
  std::int64_t next_sample = 0;
  std::printf("[");
  for (std::int64_t elapsed_ms = 0; elapsed_ms <= 1000; elapsed_ms = (now_ns() - start) / 1'000'000) {
    if (elapsed_ms >= next_sample) {
      std::printf("%s%ld", next_sample != 0 ? "," : "", resident_kib());
      next_sample += 100;
    }
    for (int i = 0; i < 1000; ++i) {
      const std::size_t size = skewed_size(random.next());
      void* block = front.allocate(size);
      mark(block, 1);
      front.deallocate(block, size);
    }
    usleep(10'000);
  }
  std::printf(",%ld]", resident_kib());
}

/// Names the thread that allocates the peak, and its state when the main thread frees it.
enum class allocated_by { main_thread, ended_threads, sleeping_threads };

/// Allocates 1 GiB of small blocks, which the main thread frees.
template <class Front>
void peak(allocated_by allocator) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  constexpr unsigned workers = 4;
  Front front;
  std::vector<linked_blocks> lists(workers);
  std::atomic<unsigned> grown{0};
  std::atomic_flag end;
  std::vector<std::thread> threads;
  if (allocator == allocated_by::main_thread) {
    for (unsigned w = 0; w < workers; ++w) lists[w].grow(front, bytes / workers, w + 1);
  } else {
    for (unsigned w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        Front front_of_thread;
        lists[w].grow(front_of_thread, bytes / workers, w + 1);
        ++grown;
        grown.notify_one();
        if (allocator == allocated_by::sleeping_threads) end.wait(false);
      });
    for (unsigned ready = 0; ready < workers; ready = grown.load()) grown.wait(ready);
    if (allocator == allocated_by::ended_threads)
      for (std::thread& thread : threads) thread.join();
  }
  std::printf("\"peak_kib\":%ld,", resident_kib());
  for (linked_blocks& list : lists) list.free_all(front);
  std::printf("\"after_kib\":");
  watch_light_activity(front);
  end.test_and_set();
  end.notify_all();
  for (std::thread& thread : threads)
    if (thread.joinable()) thread.join();
}

/// Runs 10,000 threads in turn: each allocates 100 blocks and frees half, its parent frees the rest.
template <class Front>
void many_threads() {
  struct left_over {
    std::array<void*, 50> blocks;
    std::array<std::size_t, 50> sizes;
  };
  Front front;
  left_over left;
  const auto body = [](void* argument) -> void* {
    Front front_of_thread;
    auto& leavings = *static_cast<left_over*>(argument);
    random_numbers random(3);
    for (unsigned k = 0; k < 50; ++k) {
      leavings.sizes[k] = skewed_size(random.next());
      leavings.blocks[k] = front_of_thread.allocate(leavings.sizes[k]);
      mark(leavings.blocks[k], k);
      const std::size_t size = skewed_size(random.next());
      void* block = front_of_thread.allocate(size);
      mark(block, k);
      front_of_thread.deallocate(block, size);
    }
    return nullptr;
  };
  std::printf("\"resident_kib\":{");
  for (unsigned threads = 1; threads <= 10'000; ++threads) {
    run_thread(body, &left);
    for (unsigned k = 0; k < 50; ++k) front.deallocate(left.blocks[k], left.sizes[k]);
    if (threads == 100 || threads == 1000 || threads == 10'000)
      std::printf("%s\"%u\":%ld", threads == 100 ? "" : ",", threads, resident_kib());
  }
  std::printf("}");
}

/// Grows a heap object to 256 MiB and destroys it with all its blocks still allocated.
template <class Front>
void destroyed_heap() {
  Front second_heap;
  std::optional<Front> front;
  std::printf("\"before_kib\":%ld,", resident_kib());
  front.emplace();
  linked_blocks{}.grow(*front, std::size_t{256} << 20, 1);
  std::printf("\"peak_kib\":%ld,", resident_kib());
  front.reset();
  std::printf("\"after_kib\":");
  watch_light_activity(second_heap);
}

template <class Front>
int run_footprint(const char* kind) {
  bool is_known = false;
  const auto is_kind = [&](const char* word) {
    const bool is_match = std::strcmp(kind, word) == 0;
    is_known = is_known || is_match;
    return is_match;
  };
  std::setvbuf(stdout, nullptr, _IOFBF, 4096);
  std::printf("{\"form\":\"%s\",\"footprint\":\"%s\",\"malloc\":\"%s\",", Front::name, kind, malloc_provider());
  if (is_kind("peak")) peak<Front>(allocated_by::main_thread);
  if constexpr (Front::lets_any_thread_free) {
    if (is_kind("peak-ended")) peak<Front>(allocated_by::ended_threads);
    if (is_kind("peak-sleeping")) peak<Front>(allocated_by::sleeping_threads);
    if (is_kind("threads")) many_threads<Front>();
  }
  if constexpr (requires(Front f) { f.release(); }) {
    if (is_kind("destroyed")) destroyed_heap<Front>();
  }
  std::printf("}\n");
  if (is_known) return 0;
  std::fprintf(stderr, "bench: the form %s has no footprint '%s'\n", Front::name, kind);
  return 2;
}

}  // namespace bench
