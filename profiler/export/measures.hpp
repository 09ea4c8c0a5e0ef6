// The measures of a stack, with the names that every format uses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn::exports {

enum measure : std::size_t {
  allocations,
  bytes,
  freed_by_same_thread,
  remote_frees,
  in_use,
  short_lived,
  reallocs,
  copied_bytes,
  lock_acquisitions,
  lock_contended,
  lock_wait,
  lock_held,
  calls,
  call_errors,
  call_bytes,
  call_time,
  cpu_time,
  wait_time,
  measure_count,
};

enum class unit { count, bytes, nanoseconds };

constexpr const char* name(unit unit) {
  switch (unit) {
    case unit::count: return "count";
    case unit::bytes: return "bytes";
    case unit::nanoseconds: return "nanoseconds";
  }
  return "";
}

struct measure_info {
  std::string_view name;  // the argument of --measure
  unit value_unit;
  std::string_view description;
};

constexpr std::array<measure_info, measure_count> measures = {{
    {"allocations", unit::count, "Blocks allocated"},
    {"bytes", unit::bytes, "Bytes allocated"},
    {"freed_by_same_thread", unit::count, "Blocks freed by the thread that allocated them"},
    {"remote_frees", unit::count, "Blocks freed by other threads"},
    {"in_use", unit::count, "Blocks in use at the end"},
    {"short_lived", unit::count, "Blocks freed before their thread allocated 64 more"},
    {"reallocs", unit::count, "Blocks reallocated"},
    {"copied_bytes", unit::bytes, "Bytes copied by realloc"},
    {"lock_acquisitions", unit::count, "Locks acquired"},
    {"lock_contended", unit::count, "Locks waited for"},
    {"lock_wait", unit::nanoseconds, "Time waited for locks"},
    {"lock_held", unit::nanoseconds, "Time locks were held"},
    {"calls", unit::count, "System calls"},
    {"call_errors", unit::count, "System calls that failed"},
    {"call_bytes", unit::bytes, "Bytes that system calls moved"},
    {"call_time", unit::nanoseconds, "Time in system calls"},
    {"cpu_time", unit::nanoseconds, "CPU time"},
    {"wait_time", unit::nanoseconds, "Time waited"},
}};

using values = std::array<std::uint64_t, measure_count>;

}  // namespace tarn::exports
