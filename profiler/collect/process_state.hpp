// Reads the system's data about a running process.
#pragma once

#include <cstdint>
#include <optional>

namespace tarn::command {

struct process_state {
  std::uint64_t resident_bytes = 0, peak_resident_bytes = 0;
  std::uint64_t user_us = 0, system_us = 0;  // their sum is exact to the microsecond, each alone to a clock tick
};

// Returns nothing for a process that has ended, unless its parent has not waited for it.
std::optional<process_state> state_of(std::uint64_t process);
// The same, but returns nothing for a process that has waited for no child that used a tick of a processor: the usage
// that its parent gets is then its alone, and more exact.
std::optional<process_state> state_without_children(std::uint64_t process);

// The kernel's counts of the calls of a process that read and that write; 0 where /proc does not tell them. It also
// knows those of a process that has ended and that its parent has not waited for.
struct input_output_counts {
  std::uint64_t reads = 0, writes = 0;
};
input_output_counts input_output_of(std::uint64_t process);

}  // namespace tarn::command
