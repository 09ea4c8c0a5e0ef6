// The actions and expectations that the tests of an application share.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <chrono>
#include <string>
#include <thread>

#include <tarn/application.hpp>
#include <tarn/worker.hpp>

#include "support/child.hpp"

namespace application_tests {

using namespace std::chrono_literals;
using support::ending;
using support::in_child;
using tarn::application;
using tarn::application_options;
using tarn::worker;

inline void wait_for_the_stop(tarn::worker& me) {
  pollfd stop{me.stop_descriptor(), POLLIN, 0};
  while (!me.is_stopping()) poll(&stop, 1, -1);
}
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
inline support::ending expected_ending(int status, const std::string& lines) {
  std::string error;
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = lines.find('\n', start);
    error += "tarn: application \"test\": " + lines.substr(start, end - start) + "\n";
    start = end + 1;
  }
  return {.signal = 0, .status = status, .error = error};
}
inline support::ending quiet(int status) { return {.signal = 0, .status = status, .error = ""}; }

/// Holds both ends of a connection; the worker reads from the first one, and nobody writes.
struct connection {
  connection() { static_cast<void>(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }
  ~connection() { close(ends[0]), close(ends[1]); }
  ssize_t wait() const {
    char byte;
    return recv(ends[0], &byte, 1, 0);
  }
  int ends[2];
};

}  // namespace application_tests
