#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "server.hpp"

namespace appserver {

namespace {

/// Returns a socket bound to the address and fills in its port. `is_exclusive`: fails where another socket listens.
int bound(sockaddr_in& address, bool is_exclusive) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int enabled = 1;
  socklen_t size = sizeof address;
  if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &enabled, sizeof enabled) != 0 ||
      (!is_exclusive && setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &enabled, sizeof enabled) != 0) ||
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = std::strerror(errno);
    if (descriptor >= 0) {
      close(descriptor);
    }
    throw std::runtime_error("port " + std::to_string(ntohs(address.sin_port)) + ": " + why);
  }
  return descriptor;
}

}  // namespace

listeners::~listeners() {
  for (const int socket_number : sockets_) {
    if (socket_number >= 0) {
      close(socket_number);
    }
  }
}

void listeners::open(const server_settings& settings) {
  if (const std::vector<tarn::service_socket> passed = tarn::take_service_sockets(); !passed.empty()) {
    share(passed, settings.all_workers());
    return;
  }
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(settings.port);
  if (inet_pton(AF_INET, settings.address.c_str(), &address.sin_addr) != 1) {
    throw std::runtime_error("server.address is " + settings.address + ", not an IPv4 address");
  }
  // Sockets that share a port would also share it with another server of this user, which would then lose requests.
  close(bound(address, true));
  for (unsigned worker = 0; worker < settings.all_workers(); ++worker) {
    sockets_.push_back(bound(address, false));
    if (listen(sockets_.back(), SOMAXCONN) != 0) {
      throw std::runtime_error(std::string("listen: ") + std::strerror(errno));
    }
  }
  port_ = ntohs(address.sin_port);
}

// The service manager has opened the port. If it passed one socket, the workers share it; if it passed one for each
// (ReusePort=yes and as many ListenStream= lines), each worker has its own.
void listeners::share(const std::vector<tarn::service_socket>& passed, unsigned workers) {
  for (unsigned worker = 0; worker < workers; ++worker) {
    const int copy = fcntl(passed[worker % passed.size()].descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
      throw std::runtime_error(std::string("a socket of the service manager: ") + std::strerror(errno));
    }
    sockets_.push_back(copy);
    fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK);
  }
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  if (getsockname(sockets_.front(), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port_ = ntohs(address.sin_port);
  }
  for (const tarn::service_socket& inherited : passed) {
    close(inherited.descriptor);
  }
}

// A socket that already listens stays as it is; one whose process was stopped alone listens again.
int listeners::take(unsigned worker) noexcept {
  listen(sockets_[worker], SOMAXCONN);
  return std::exchange(sockets_[worker], -1);
}

}  // namespace appserver
