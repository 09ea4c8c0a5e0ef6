// Tells what each thread did and when: how long it was in which state in each interval of the run, where it waited, and
// who held the lock that it waited for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/findings/heap/history.hpp"
#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// `kernel` is a wait in the kernel that is none of the others, such as for input or a page of a file; `idle` a wait for
// work or for an event: a condition, a poll, the end of a thread.
enum class lane_state : std::uint8_t { running, runnable, lock, kernel, sleep, idle, unknown };
constexpr std::size_t lane_states = 7;
const char* name(lane_state state);

// The state of a thread that waits with this stack (stack_at), and the function of the C library in which it waits.
struct wait_kind {
  lane_state state = lane_state::unknown;
  std::string call;
};
wait_kind wait_kind_of(const std::vector<code_location>& stack);

// The time of a thread in one state; of waits, that at one place of the program and for one holder.
struct lane_part {
  lane_state state = lane_state::unknown;
  std::string call;                     // as in wait_kind; empty unless it waits
  std::uint32_t site = 0;               // the stack with most of it; 0: none, or several places
  std::optional<std::uint32_t> holder;  // the thread that held the lock, if that is known
  std::uint64_t ns = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> intervals;  // indexes with the nanoseconds in each
};
struct lane {
  std::uint32_t thread = 0;
  std::array<std::uint64_t, lane_states> sums{};
  std::vector<lane_part> parts;  // by state, then the longest first

  std::uint64_t sum(lane_state state) const { return sums[static_cast<std::size_t>(state)]; }
  std::uint64_t lifetime_ns() const;
};
struct lane_findings {
  std::vector<std::uint64_t> ends_ns;  // of the intervals, since the program's start; empty if they are not known
  std::vector<lane> lanes;             // the longest running time first
};

// `recording` comes from with_cpu_sites(), and `course` is its history; without one the parts have no intervals.
lane_findings find_lanes(const format::recording& recording, symbols& symbols, const history& course);

}  // namespace tarn::analyse
