#include <tarn/service.hpp>

#include "sync/service_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tarn {
namespace {

constexpr int first_descriptor = 3;  // SD_LISTEN_FDS_START
constexpr long max_descriptors = 1 << 20;

/// Returns the number in an environment variable, or -1.
long number_in(const char* variable) noexcept {
  const char* const text = std::getenv(variable);
  long number = -1;
  if (text != nullptr) {
    const char* const end = text + std::strlen(text);
    if (const auto read = std::from_chars(text, end, number); read.ec != std::errc() || read.ptr != end) number = -1;
  }
  return number;
}

/// The address of the manager's socket; a length of 0: there is none.
struct manager_address {
  sockaddr_un address = {};
  socklen_t bytes = 0;

  manager_address() noexcept {
    const char* const path = std::getenv("NOTIFY_SOCKET");
    const std::size_t length = path != nullptr ? std::strlen(path) : 0;
    if (length < 2 || length > sizeof address.sun_path - 1 || (path[0] != '/' && path[0] != '@')) return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, length);
    const bool is_abstract = path[0] == '@';
    if (is_abstract) address.sun_path[0] = '\0';
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (is_abstract ? 0 : 1));
  }
};

int new_socket() noexcept { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

}  // namespace

namespace detail::service_manager {

owned_descriptor open() noexcept {
  return manager_address().bytes != 0 ? owned_descriptor("a socket", new_socket()) : owned_descriptor();
}

bool send(int socket, std::string_view lines) noexcept {
  const manager_address manager;
  return manager.bytes != 0 &&
         sendto(socket, lines.data(), lines.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&manager.address),
                manager.bytes) == static_cast<ssize_t>(lines.size());
}

}  // namespace detail::service_manager

bool notify_service(std::string_view lines) noexcept {
  const detail::owned_descriptor socket = detail::service_manager::open();
  return detail::service_manager::send(socket.number(), lines);
}

std::chrono::microseconds service_watchdog_interval() noexcept {
  const long owner = number_in("WATCHDOG_PID");
  const long microseconds = number_in("WATCHDOG_USEC");
  const bool is_ours = std::getenv("WATCHDOG_PID") == nullptr || owner == getpid();
  return std::chrono::microseconds(is_ours && microseconds > 0 ? microseconds : 0);
}

std::vector<service_socket> take_service_sockets() {
  std::vector<service_socket> sockets;
  const long count = number_in("LISTEN_FDS");
  if (number_in("LISTEN_PID") == getpid() && count > 0 && count <= max_descriptors) {
    const char* const listed = std::getenv("LISTEN_FDNAMES");
    std::string_view names = listed != nullptr ? listed : "";
    for (int descriptor = first_descriptor; descriptor < first_descriptor + count; ++descriptor) {
      const std::size_t end = names.find(':');
      const std::string_view name = names.substr(0, end);
      sockets.push_back({descriptor, name.empty() ? "unknown" : std::string(name)});
      names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
      fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    }
  }
  for (const char* const variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(variable);
  return sockets;
}

}  // namespace tarn
