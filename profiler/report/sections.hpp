// Declares the sections of a report below the sites of the heap. Each has a file of its own.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "profiler/advise/analysis.hpp"

namespace tarn::command {

struct section {
  const char* member;                                          // the member of the JSON
  void (*print_summary)(analyse::analysis&);                   // prints a line or two, or nothing
  void (*print)(analyse::analysis&, std::size_t top);          // prints at most `top` of each kind
  nlohmann::json (*json_of)(analyse::analysis&, std::size_t);  // the same as JSON
};
extern const section memory_section, cpu_section, time_section, lanes_section, lasting_section, locks_section,
    wait_for_section, orders_section, calls_section, unfinished_calls_section, quiet_section;
// In the order of the text.
inline constexpr std::array sections = {
    &memory_section, &cpu_section,      &time_section,   &lanes_section, &lasting_section,
    &locks_section,  &wait_for_section, &orders_section, &calls_section, &unfinished_calls_section,
    &quiet_section};

// Returns what the verdict says of orders of locks that could deadlock; empty if there are none by several threads.
std::string possible_deadlock_text(analyse::analysis& analysis);

// Returns null if the recording has no snapshots.
nlohmann::json json_of_timeline(analyse::analysis& analysis);

}  // namespace tarn::command
