// Counts the work of the workers. Each worker writes its own numbers on its own cache lines; /metrics adds them up.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <span>
#include <string>

namespace appserver {

/// Single-writer, multi-reader counter: it needs no read-modify-write.
class counter {
 public:
  void add(std::uint64_t amount) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(std::uint64_t now) noexcept { value_.store(now, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

struct alignas(64) worker_metrics {
  /// Upper bounds of the latency buckets, in microseconds; one more bucket counts the rest.
  static constexpr std::array<std::uint64_t, 8> bounds = {50, 100, 250, 500, 1'000, 5'000, 25'000, 100'000};

  std::array<counter, 5> replies;  ///< by the first digit of the status
  std::array<counter, bounds.size() + 1> latency;
  counter latency_ns;      ///< the sum over all requests
  counter locks;           ///< taken in the session manager
  counter connections;     ///< open now
  counter footprint;       ///< bytes that the worker's heap has put to use; 0 without a heap
  counter footprint_most;  ///< the peak of footprint

  /// Counts one reply. `took` is the time from the request's first byte in the socket to the reply's last byte.
  void replied(unsigned status, std::chrono::nanoseconds took) noexcept;
};

/// The numbers of all workers, in memory that all processes forked later share.
class metrics_table {
 public:
  /// Throws std::bad_alloc.
  explicit metrics_table(std::size_t workers);
  ~metrics_table();
  metrics_table(const metrics_table&) = delete;
  metrics_table& operator=(const metrics_table&) = delete;

  worker_metrics& operator[](std::size_t worker) noexcept { return workers_[worker]; }
  std::span<const worker_metrics> workers() const noexcept { return workers_; }

 private:
  std::span<worker_metrics> workers_;
};

/// Returns the metrics as OpenMetrics 1.0, without its last line.
void append_metrics(std::pmr::string& text, std::span<const worker_metrics> workers);

}  // namespace appserver
