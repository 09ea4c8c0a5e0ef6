// The interface between a worker and its application.
#pragma once

namespace tarn {

class application;
namespace detail {
class application_inside;
struct worker_inside;
}  // namespace detail

/// An application passes this to the function of each worker. Only the worker's thread may use it, except that any
/// thread may call is_stopping() and stop_descriptor(). No function throws or waits.
class worker {
 public:
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Returns the worker's number, from 0 on; with processes, workers are numbered across all of them.
  unsigned number() const noexcept;
  /// Returns true when the worker should end: finish the current request and take no other. Cost: one load.
  bool is_stopping() const noexcept;
  /// Returns a descriptor that becomes readable when the worker should end, for poll and epoll beside the worker's
  /// own descriptors. Neither read nor close it.
  int stop_descriptor() const noexcept;
  /// Sets the text that the report shows if this worker does not stop. It must live as long as the application. Cost:
  /// one store.
  void set_activity(const char* activity) noexcept;

 private:
  friend class detail::application_inside;
  friend class watched_socket;
  explicit worker(detail::worker_inside& state) noexcept : state_(state) {}

  detail::worker_inside& state_;
};

/// Says when a watched socket is shut down.
enum class wake {
  at_stop,      ///< as soon as a stop begins: for a socket that accepts
  at_deadline,  ///< after stop_timeout, or at a second signal: for the sockets of clients
};

/// Shuts a socket down at a stop or at the deadline, which ends a wait of the worker in it (accept, recv, send). It
/// must not outlive the open descriptor or the worker. A stop requested earlier is still delivered. Any thread may
/// construct and destroy it. Errors: the constructor throws std::bad_alloc; a descriptor that is no socket is ignored.
/// Cost: a mutex of the worker at each end, which then searches the worker's list.
class watched_socket {
 public:
  /// Watches the descriptor `socket`, which stays the caller's.
  watched_socket(worker& owner, int socket, wake moment);
  ~watched_socket();
  watched_socket(const watched_socket&) = delete;
  watched_socket& operator=(const watched_socket&) = delete;

 private:
  worker& owner_;
  int socket_;
};

}  // namespace tarn
