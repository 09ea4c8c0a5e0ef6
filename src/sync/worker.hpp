// The application's data of a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <tarn/worker.hpp>

namespace tarn::detail {

/// The progress of a stop.
enum class stop_stage : std::uint8_t { working, stopping, hurrying };

struct worker_inside {
  struct watched {
    int socket;
    wake moment;
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

  std::mutex mutex;              ///< protects `sockets`
  std::vector<watched> sockets;  ///< sockets that are open

  /// Shuts down the sockets whose stage has been reached.
  void shut_down_sockets() noexcept;
};

}  // namespace tarn::detail
