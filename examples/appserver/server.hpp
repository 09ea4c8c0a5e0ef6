// The sockets: where the workers listen, and how one worker serves.
#pragma once

#include <cstdint>
#include <vector>

#include <tarn/service.hpp>
#include <tarn/tarn.hpp>

#include "memory.hpp"
#include "objects.hpp"
#include "pages.hpp"

namespace appserver {

/// Holds a listening socket for each worker, all on one port: the kernel distributes connections (SO_REUSEPORT).
class listeners {
 public:
  listeners() = default;
  ~listeners();
  listeners(const listeners&) = delete;
  listeners& operator=(const listeners&) = delete;

  /// Throws std::runtime_error when the address does not exist or another program has the port.
  void open(const server_settings& settings);
  std::uint16_t port() const noexcept { return port_; }
  /// Returns a worker's socket, which the worker closes.
  int take(unsigned worker) noexcept;

 private:
  void share(const std::vector<tarn::service_socket>& passed, unsigned workers);

  std::vector<int> sockets_;
  std::uint16_t port_ = 0;
};

/// Serves until the worker is asked to stop and its last request is answered.
void work(tarn::worker& me, listeners& sockets, objects& state, allocator_kind kind, answering& pages = answer);

}  // namespace appserver
