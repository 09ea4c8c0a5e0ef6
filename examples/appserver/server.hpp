// The sockets: where workers listen, and what one of them does.
#pragma once

#include <cstdint>
#include <vector>

#include <tarn/tarn.hpp>

#include "memory.hpp"
#include "objects.hpp"
#include "pages.hpp"

namespace appserver {

/// A listening socket for each worker, on one port: the kernel shares connections out among them (SO_REUSEPORT).
class listeners {
 public:
  listeners() = default;
  ~listeners();
  listeners(const listeners&) = delete;
  listeners& operator=(const listeners&) = delete;

  /// Throws std::runtime_error: no such address, or another program has the port.
  void open(const server_settings& settings);
  std::uint16_t port() const noexcept { return port_; }
  /// The socket of a worker, which closes it.
  int take(unsigned worker) noexcept;

 private:
  std::vector<int> sockets_;
  std::uint16_t port_ = 0;
};

/// Serves until the worker should stop and its last request is answered.
void work(tarn::worker& me, listeners& from, objects& all, allocator_kind kind, answering& pages = answer);

}  // namespace appserver
