#include "profiler/collect/process_state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace tarn::command {

namespace {

std::uint64_t peak_resident_bytes_of(std::uint64_t process) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view name = "VmHWM:";
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
  }
  return 0;
}

struct processor_ticks {
  std::uint64_t system = 0, of_children = 0;
};

processor_ticks processor_ticks_of(std::uint64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  // The name in parentheses may hold any character. The twelfth field after it is the user time, and the system time
  // and those of the children that were waited for follow.
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 0; field < 12; ++field) fields >> skipped;
  processor_ticks ticks;
  std::uint64_t user = 0, system = 0;
  fields >> ticks.system >> user >> system;
  ticks.of_children = user + system;
  return ticks;
}

}  // namespace

std::optional<process_state> state_of(std::uint64_t process) {
  clockid_t clock = 0;
  timespec spent{};
  if (::clock_getcpuclockid(static_cast<pid_t>(process), &clock) != 0 || ::clock_gettime(clock, &spent) != 0)
    return std::nullopt;
  process_state state;
  std::uint64_t size = 0, pages = 0;
  std::ifstream(fmt::format("/proc/{}/statm", process)) >> size >> pages;
  state.resident_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  state.peak_resident_bytes = std::max(state.resident_bytes, peak_resident_bytes_of(process));
  const auto all_us =
      static_cast<std::uint64_t>(spent.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(spent.tv_nsec) / 1000;
  const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  state.system_us = std::min(processor_ticks_of(process).system * 1'000'000 / ticks, all_us);
  state.user_us = all_us - state.system_us;
  return state;
}

std::optional<process_state> state_without_children(std::uint64_t process) {
  return processor_ticks_of(process).of_children == 0 ? std::nullopt : state_of(process);
}

input_output_counts input_output_of(std::uint64_t process) {
  input_output_counts counts;
  std::ifstream file(fmt::format("/proc/{}/io", process));
  std::string name;
  for (std::uint64_t number = 0; file >> name >> number;) {
    if (name == "syscr:") counts.reads = number;
    if (name == "syscw:") counts.writes = number;
  }
  return counts;
}

}  // namespace tarn::command
