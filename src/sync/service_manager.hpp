// The socket to the service manager, for those who keep it open.
#pragma once

#include <string_view>

#include "sync/descriptors.hpp"

namespace tarn::detail::service_manager {

/// Opens a socket if the environment names a manager.
owned_descriptor open() noexcept;

/// Sends `lines` to the manager that the environment names. Returns false if there is none, or if it got nothing.
bool send(int socket, std::string_view lines) noexcept;

}  // namespace tarn::detail::service_manager
