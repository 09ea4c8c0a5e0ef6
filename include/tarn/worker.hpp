// What a worker of an application knows of it.
#pragma once

#include <cstdint>

namespace tarn {

class application;
namespace detail {
class application_inside;
struct worker_inside;
}  // namespace detail

/// Handed to the function of a worker; for its thread, but for stopping() and stop_descriptor(), which are for any.
class worker {
 public:
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// From 0 on; in processes, among the workers of all of them.
  unsigned number() const noexcept;
  /// Whether it should end: finish the request, take no other. One load.
  bool stopping() const noexcept;
  /// Readable as soon as it should end: for poll and epoll beside what the worker waits for. Neither read nor close it.
  int stop_descriptor() const noexcept;
  /// For the report of workers that did not stop; a text that lives as long as the application. One store.
  void now_doing(const char* what) noexcept;

 private:
  friend class detail::application_inside;
  friend class watched_socket;
  explicit worker(detail::worker_inside& inside) noexcept : inside_(inside) {}

  detail::worker_inside& inside_;
};

enum class wake { at_stop, at_deadline };

/// A socket in which the worker may wait (accept, recv, send): at that moment it is shut down, which ends the wait.
/// Lives no longer than the descriptor is open. A stop that came before is not missed.
class watched_socket {
 public:
  /// Throws std::bad_alloc.
  watched_socket(worker& by, int socket, wake when);
  ~watched_socket();
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;

 private:
  worker& by_;
  int socket_;
};

}  // namespace tarn
