// Keeps a loop that accepts connections going when the process has no descriptors left.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tarn {

/// tarn::accept_backoff backoff("port 8080");
/// …
/// const int client = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
/// if (client < 0) {
///   if (!backoff.may_retry(errno)) throw …;
///   if (backoff.must_pause()) poll(&stop, 1, tarn::accept_backoff::pause.count());   // the stop descriptor alone
///   continue;
/// }
///
/// A connection that cannot be accepted stays in the queue of the listening socket, which stays readable. So a loop
/// that tries again at once takes a whole processor until a descriptor is free. Threads: one at a time.
class accept_backoff {
 public:
  /// The time between two attempts while there are no descriptors or no memory.
  static constexpr std::chrono::milliseconds pause{100};

  /// `name` is that of the listening socket in messages. Throws std::bad_alloc.
  explicit accept_backoff(std::string_view name) : name_(name) {}

  /// Returns whether another accept() may succeed after one that failed with this errno. If the process or the system
  /// has no descriptors or no memory left, it says so on standard error, at most once a minute. Throws nothing.
  bool may_retry(int error) noexcept;
  /// Returns true if the last error was such a shortage: then wait for `pause` before the next accept(). Throws
  /// nothing.
  bool must_pause() const noexcept { return must_pause_; }

 private:
  std::string name_;
  std::chrono::steady_clock::time_point silent_until_{};
  bool must_pause_ = false;
};

}  // namespace tarn
