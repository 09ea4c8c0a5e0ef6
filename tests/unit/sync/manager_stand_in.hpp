// A stand-in for the service manager.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "unit/sync/application_fixture.hpp"

namespace application_tests {

/// Is the manager's end of the notify socket, in the abstract namespace.
class manager_stand_in {
 public:
  manager_stand_in() : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string name = "@tarn-test-" + std::to_string(getpid());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), bytes) != 0) std::abort();
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~manager_stand_in() { close(socket_); }
  /// Waits for the next message.
  std::string next() const {
    char text[256];
    const ssize_t bytes = recv(socket_, text, sizeof text, 0);
    return bytes < 0 ? "" : std::string(text, static_cast<std::size_t>(bytes));
  }
  bool is_empty() const {
    char byte = 0;
    return recv(socket_, &byte, 1, MSG_DONTWAIT) < 0;
  }

 private:
  int socket_;
};

/// Runs an application until the manager has got three signs of life. The socket has room for ten messages, and one
/// that is sent to a full socket is lost: pings that nobody reads in time would take the place of the other messages.
inline int run_until_pinged(const manager_stand_in& manager, tarn::application& app) {
  app.on_work([](tarn::worker& me) { wait_for_the_stop(me); });
  std::thread driver([&] {
    for (int pings = 0; pings < 3;) pings += manager.next() == "WATCHDOG=1" ? 1 : 0;
    app.stop();
  });
  const int result = app.run();
  driver.join();
  return result;
}

}  // namespace application_tests
