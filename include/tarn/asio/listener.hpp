// Sockets of a worker of an application with Asio: connections, and the end of its work.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory_resource>
#include <string>
#include <system_error>
#include <utility>

#include <tarn/accept_backoff.hpp>
#include <tarn/asio/coroutine.hpp>
#include <tarn/asio/net.hpp>
#include <tarn/worker.hpp>

namespace tarn::asio {

/// Completes a wait when the worker should end. Threads: those of the io_context. Cost: one descriptor, and one wait of
/// Asio.
class worker_stop {
 public:
  /// Duplicates the worker's descriptor. Throws std::system_error when there is no descriptor left.
  worker_stop(net::io_context& io, const worker& me) : descriptor_(io, duplicate(me.stop_descriptor())) {}
  /// Calls `handler(error_code)` when the worker should end.
  template <class Handler>
  void async_wait(Handler&& handler) {
    descriptor_.async_wait(net::posix::descriptor_base::wait_read, std::forward<Handler>(handler));
  }

 private:
  static int duplicate(int descriptor) {
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
      throw std::system_error(errno, std::generic_category(), "tarn::asio::worker_stop: cannot copy a descriptor");
    }
    return copy;
  }

  net::posix::basic_stream_descriptor<io_executor> descriptor_;
};

/// tarn::asio::listener door(io, descriptor, tarn::current_heap());
/// door.accept([&](tarn::asio::tcp_socket client, const auto& peer) { serve(std::move(client), peer); });
///
/// Accepts the connections of a listening TCP socket, which it owns, and passes each to a function. When the process
/// has no descriptors left, it says so once a minute, and tries again ten times a second. Threads: one, that of the
/// io_context. Cost: one wait of Asio for each connection, whose memory comes from `memory`.
class listener {
 public:
  /// The address of a client.
  using endpoint = net::ip::tcp::endpoint;

  /// Takes over the descriptor. Throws what Asio throws if it is no socket.
  listener(net::io_context& io, int descriptor, std::pmr::memory_resource& memory)
      : io_(io),
        memory_(memory),
        acceptor_(io, address_family_of(descriptor), descriptor),
        backoff_(name_of(acceptor_)) {}

  /// Calls `admit(socket, peer)` for each connection until close(). An exception of `admit` leaves io_context::run(),
  /// and ends the accepting.
  template <class Admit>
  background accept(Admit admit) {
    while (acceptor_.is_open()) {
      tcp_socket socket(io_);
      endpoint peer;
      const error_code error =
          co_await wait(memory_, [&](auto handler) { acceptor_.async_accept(socket, peer, std::move(handler)); });
      if (!error) {
        admit(std::move(socket), peer);
      } else if (acceptor_.is_open()) {  // for example without descriptors; open connections continue
        backoff_.may_retry(error.value());
        steady_timer later(io_, accept_backoff::pause);
        co_await wait(memory_, [&](auto handler) { later.async_wait(std::move(handler)); });
      }
    }
  }

  /// Calls `admit(socket, peer)` for the connections that the kernel has accepted already, and then accepts no more:
  /// neither here nor in a parent process that has the socket open, too.
  template <class Admit>
  void close(Admit admit) {
    error_code error;
    acceptor_.non_blocking(true, error);
    while (!error) {
      tcp_socket socket(io_);
      endpoint peer;
      acceptor_.accept(socket, peer, error);
      if (!error) admit(std::move(socket), peer);
    }
    shutdown(acceptor_.native_handle(), SHUT_RD);
    acceptor_.close(error);
  }

  /// Returns the memory of the coroutine.
  std::pmr::memory_resource& memory() const noexcept { return memory_; }

 private:
  static std::string name_of(const tcp_acceptor& acceptor) {
    error_code error;
    const endpoint local = acceptor.local_endpoint(error);
    return error ? "listener" : "listener of port " + std::to_string(local.port());
  }
  static net::ip::tcp address_family_of(int descriptor) noexcept {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    return address.ss_family == AF_INET6 ? net::ip::tcp::v6() : net::ip::tcp::v4();
  }

  net::io_context& io_;
  std::pmr::memory_resource& memory_;
  tcp_acceptor acceptor_;
  accept_backoff backoff_;
};

}  // namespace tarn::asio
