// What the system says of a process that runs.
#pragma once

#include <cstdint>
#include <optional>

namespace tarn::command {

struct process_state {
  std::uint64_t resident_bytes = 0;
  std::uint64_t user_us = 0, system_us = 0;  // their sum to the microsecond, each to a clock tick
};

// Nothing of one that has ended.
std::optional<process_state> state_of(std::uint64_t process);

}  // namespace tarn::command
