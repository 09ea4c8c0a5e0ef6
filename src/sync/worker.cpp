#include "sync/worker.hpp"

#include <sys/socket.h>

namespace tarn {
namespace {

bool is_time(wake moment, detail::stop_stage stage) noexcept {
  return stage == detail::stop_stage::hurrying || (stage == detail::stop_stage::stopping && moment == wake::at_stop);
}

}  // namespace

unsigned worker::number() const noexcept { return inside_.number; }
bool worker::stopping() const noexcept {
  return inside_.stage.load(std::memory_order_acquire) != detail::stop_stage::working;
}
int worker::stop_descriptor() const noexcept { return inside_.stop_descriptor; }
void worker::now_doing(const char* what) noexcept { inside_.doing.store(what, std::memory_order_release); }

// The stage is read under the mutex, and the thread that changes it takes the mutex afterwards: either that thread
// finds the socket in the list, or this thread sees the new stage.
watched_socket::watched_socket(worker& by, int socket, wake when) : owner_(by), socket_(socket) {
  const std::lock_guard hold(by.inside_.mutex);
  by.inside_.sockets.push_back({socket, when});
  if (is_time(when, by.inside_.stage.load(std::memory_order_acquire))) {
    shutdown(socket, SHUT_RDWR);
  }
}

watched_socket::~watched_socket() {
  const std::lock_guard hold(owner_.inside_.mutex);
  std::erase_if(owner_.inside_.sockets, [this](const auto& each) { return each.socket == socket_; });
}

void detail::worker_inside::shut_down_sockets() noexcept {
  const std::lock_guard hold(mutex);
  for (const watched& each : sockets) {
    if (is_time(each.moment, stage.load(std::memory_order_acquire))) {
      shutdown(each.socket, SHUT_RDWR);
    }
  }
}

}  // namespace tarn
