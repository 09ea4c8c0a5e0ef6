// A worker as its application sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <tarn/worker.hpp>

namespace tarn::detail {

/// How far a stop has come.
enum class stop_stage : std::uint8_t { working, stopping, hurrying };

struct worker_inside {
  struct watched {
    int socket;
    wake when;
  };

  worker_inside(unsigned number_, const std::atomic<stop_stage>& stage_, int stop_descriptor_) noexcept
      : number(number_), stage(stage_), stop_descriptor(stop_descriptor_) {}

  const unsigned number;
  const std::atomic<stop_stage>& stage;
  const int stop_descriptor;
  std::thread thread;
  std::atomic<std::uint32_t> thread_number{0};
  std::atomic<const char*> doing{nullptr};
  std::atomic<bool> has_ended{false};
  std::atomic<bool> has_failed{false};

  std::mutex mutex;              ///< of the next one
  std::vector<watched> sockets;  ///< those that are open

  /// Those whose moment is now, or was.
  void shut_down_sockets() noexcept;
};

}  // namespace tarn::detail
