#include "metrics.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace appserver {

metrics_table::metrics_table(std::size_t workers) {
  void* const memory =
      mmap(nullptr, workers * sizeof(worker_metrics), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  workers_ = {::new (memory) worker_metrics[workers], workers};
}
metrics_table::~metrics_table() { munmap(workers_.data(), workers_.size_bytes()); }

void worker_metrics::replied(unsigned status, std::chrono::nanoseconds took) noexcept {
  const auto microseconds = static_cast<std::uint64_t>(took.count()) / 1'000;
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), microseconds) - bounds.begin();
  replies[status / 100 - 1].add(1);
  latency[static_cast<std::size_t>(bucket)].add(1);
  latency_ns.add(static_cast<std::uint64_t>(took.count()));
}

void append_metrics(std::pmr::string& text, std::span<const worker_metrics> workers) {
  const auto out = std::back_inserter(text);
  text += "# TYPE appserver_requests counter\n";
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    for (std::size_t kind = 0; kind < 5; ++kind) {
      fmt::format_to(out, "appserver_requests_total{{worker=\"{}\",status=\"{}xx\"}} {}\n", worker, kind + 1,
                     workers[worker].replies[kind].get());
    }
  }

  text += "# TYPE appserver_latency_seconds histogram\n# UNIT appserver_latency_seconds seconds\n";
  std::uint64_t count = 0;
  std::uint64_t nanoseconds = 0;
  for (std::size_t bucket = 0; bucket <= worker_metrics::bounds.size(); ++bucket) {
    for (const worker_metrics& metrics : workers) {
      count += metrics.latency[bucket].get();
    }
    const bool is_last = bucket == worker_metrics::bounds.size();
    fmt::format_to(out, "appserver_latency_seconds_bucket{{le=\"{}\"}} {}\n",
                   is_last ? "+Inf" : fmt::format("{}", static_cast<double>(worker_metrics::bounds[bucket]) / 1e6),
                   count);
  }
  for (const worker_metrics& metrics : workers) {
    nanoseconds += metrics.latency_ns.get();
  }
  fmt::format_to(out, "appserver_latency_seconds_sum {}\nappserver_latency_seconds_count {}\n",
                 static_cast<double>(nanoseconds) / 1e9, count);

  const auto each_worker = [&](const char* name, const char* type, const char* suffix,
                               counter worker_metrics::*metrics) {
    fmt::format_to(out, "# TYPE appserver_{} {}\n", name, type);
    for (std::size_t worker = 0; worker < workers.size(); ++worker) {
      fmt::format_to(out, "appserver_{}{}{{worker=\"{}\"}} {}\n", name, suffix, worker,
                     (workers[worker].*metrics).get());
    }
  };
  each_worker("session_locks", "counter", "_total", &worker_metrics::locks);
  each_worker("connections", "gauge", "", &worker_metrics::connections);
  each_worker("footprint_bytes", "gauge", "", &worker_metrics::footprint);
  each_worker("footprint_peak_bytes", "gauge", "", &worker_metrics::footprint_most);
}

}  // namespace appserver
