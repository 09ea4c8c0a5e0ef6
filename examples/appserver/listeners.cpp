#include <arpa/inet.h>
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

/// A socket bound to the address, whose port is filled in. `alone`: not where another one listens.
int bound(sockaddr_in& address, bool alone) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  socklen_t size = sizeof address;
  if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (!alone && setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) ||
      bind(made, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      getsockname(made, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const std::string why = std::strerror(errno);
    if (made >= 0) {
      close(made);
    }
    throw std::runtime_error("port " + std::to_string(ntohs(address.sin_port)) + ": " + why);
  }
  return made;
}

}  // namespace

listeners::~listeners() {
  for (const int each : sockets_) {
    if (each >= 0) {
      close(each);
    }
  }
}

void listeners::open(const server_settings& settings) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(settings.port);
  if (inet_pton(AF_INET, settings.address.c_str(), &address.sin_addr) != 1) {
    throw std::runtime_error("server.address is " + settings.address + ", not an IPv4 address");
  }
  // Sockets that share a port would share it with another server of this user, too, who would then lose requests.
  close(bound(address, true));
  for (unsigned worker = 0; worker < settings.all_workers(); ++worker) {
    sockets_.push_back(bound(address, false));
    if (listen(sockets_.back(), SOMAXCONN) != 0) {
      throw std::runtime_error(std::string("listen: ") + std::strerror(errno));
    }
  }
  port_ = ntohs(address.sin_port);
}

// One that listens listens on; one whose process was stopped alone does again.
int listeners::take(unsigned worker) noexcept {
  listen(sockets_[worker], SOMAXCONN);
  return std::exchange(sockets_[worker], -1);
}

}  // namespace appserver
