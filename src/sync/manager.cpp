// Sends the messages of an application to the service manager that started it (systemd, Type=notify).
#include "platform/platform.hpp"
#include "sync/application_inside.hpp"

namespace tarn::detail {

void application_inside::tell_manager(std::string_view lines) const noexcept {
  if (!is_child()) service_manager::send(manager_.number(), lines);
}

void application_inside::tell_manager_of_reload() const noexcept {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch());
  base::text_buffer<64> lines;
  lines.append("RELOADING=1\nMONOTONIC_USEC=").decimal(static_cast<std::uint64_t>(now.count()));
  tell_manager(lines.view());
}

int application_inside::beat(int timeout_ms) noexcept {
  if (beat_every_.count() == 0 || is_child()) return timeout_ms;
  if (clock::now() >= next_beat_) {
    tell_manager("WATCHDOG=1");
    next_beat_ = clock::now() + beat_every_;
  }
  const int left = ms_to(next_beat_);
  return timeout_ms < 0 ? left : std::min(left, timeout_ms);
}

}  // namespace tarn::detail
