// Communication between a service and its manager (systemd): readiness, signs of life, sockets that are already open.
//
// tarn::application does all of this except for the sockets. docs/guide/application.md has an example with a unit file.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

/// Sends `lines` to the service manager, as sd_notify(3) does: "READY=1", "STATUS=loading\n", and so on. Returns
/// whether the manager got them; false when none listens, which is when the environment has no NOTIFY_SOCKET. Any
/// thread may call it. Throws nothing, allocates nothing, never waits. Cost: three system calls; without a manager,
/// none.
bool notify_service(std::string_view lines) noexcept;

/// Returns the time within which the manager expects the next "WATCHDOG=1" of this process (WATCHDOG_USEC), or 0 when
/// it expects none. Send it at half that interval. Any thread may call it while none changes the environment. Cost: it
/// reads two variables of the environment.
std::chrono::microseconds service_watchdog_interval() noexcept;

/// A descriptor that the manager opened and passed on.
struct service_socket {
  int descriptor;    ///< the caller owns it; close-on-exec is set
  std::string name;  ///< FileDescriptorName= of the socket unit; "unknown" without one
};

/// Returns the sockets that the manager opened for this process (LISTEN_FDS), in the order of the unit; none when there
/// are none, or they are another process's. Removes them from the environment, so that a second call returns none and
/// no program that this one starts takes them. Call it before any other thread runs, because the environment has no
/// lock. Throws std::bad_alloc.
std::vector<service_socket> take_service_sockets();

}  // namespace tarn
