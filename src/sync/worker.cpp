#include "sync/worker.hpp"

#include <sys/socket.h>

namespace tarn {
namespace {

bool is_time(wake moment, detail::stop_stage stage) noexcept {
  return stage == detail::stop_stage::hurrying || (stage == detail::stop_stage::stopping && moment == wake::at_stop);
}

}  // namespace

unsigned worker::number() const noexcept { return state_.number; }
bool worker::is_stopping() const noexcept {
  return state_.stage.load(std::memory_order_acquire) != detail::stop_stage::working;
}
int worker::stop_descriptor() const noexcept { return state_.stop_descriptor; }
void worker::set_activity(const char* description) noexcept {
  state_.doing.store(description, std::memory_order_release);
}

// The stage is read under the mutex, and the thread that changes it takes the mutex afterwards: either that thread
// finds the socket in the list, or this thread sees the new stage.
watched_socket::watched_socket(worker& owner, int socket, wake condition) : owner_(owner), socket_(socket) {
  const std::lock_guard hold(owner.state_.mutex);
  owner.state_.sockets.push_back({socket, condition});
  if (is_time(condition, owner.state_.stage.load(std::memory_order_acquire))) shutdown(socket, SHUT_RDWR);
}

watched_socket::~watched_socket() {
  const std::lock_guard hold(owner_.state_.mutex);
  std::erase_if(owner_.state_.sockets, [this](const auto& entry) { return entry.socket == socket_; });
}

void detail::worker_inside::shut_down_sockets() noexcept {
  const std::lock_guard hold(mutex);
  for (const watched& entry : sockets) {
    if (is_time(entry.moment, stage.load(std::memory_order_acquire))) shutdown(entry.socket, SHUT_RDWR);
  }
}

}  // namespace tarn
