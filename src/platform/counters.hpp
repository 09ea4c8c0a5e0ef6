// The counters that linux.cpp and fake/platform.cpp share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/platform.hpp"

namespace tarn::platform {

class call_counters {
 public:
  std::atomic<std::uint64_t> mmap{0}, munmap{0}, mremap{0}, madvise{0}, mprotect{0};
  std::atomic<std::uint64_t> purge_runs{0}, purge_bytes{0};
  std::atomic<std::size_t> mappings{0};  ///< that exist now

  void mapped(std::size_t bytes) noexcept { mapped_.fetch_add(bytes, std::memory_order_relaxed); }
  void unmapped(std::size_t bytes) noexcept { mapped_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t mapped_now() const noexcept { return mapped_.load(std::memory_order_relaxed); }

  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) noexcept {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
  system_call_counts calls() const noexcept {
    return {.mmap = mmap.load(std::memory_order_relaxed),
            .munmap = munmap.load(std::memory_order_relaxed),
            .mremap = mremap.load(std::memory_order_relaxed),
            .madvise = madvise.load(std::memory_order_relaxed),
            .mprotect = mprotect.load(std::memory_order_relaxed)};
  }
  purge_counts purges() const noexcept {
    return {.runs = purge_runs.load(std::memory_order_relaxed), .bytes = purge_bytes.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::size_t> mapped_{0};
};

}  // namespace tarn::platform
