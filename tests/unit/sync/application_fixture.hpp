// The actions and expectations that the tests of an application share.
#pragma once

#include <poll.h>
#include <chrono>
#include <string>
#include <thread>

#include <tarn/worker.hpp>

#include "support/child.hpp"

namespace application_tests {

inline void wait_for_the_stop(tarn::worker& me) {
  pollfd stop{me.stop_descriptor(), POLLIN, 0};
  while (!me.stopping()) {
    poll(&stop, 1, -1);
  }
}
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
inline support::ending said(int status, const std::string& lines) {
  std::string error;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    error += "tarn: application \"test\": " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return {.signal = 0, .status = status, .error = error};
}
inline support::ending quiet(int status) { return {.signal = 0, .status = status, .error = ""}; }

}  // namespace application_tests
