#include "profiler/cpu/waiting_thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

namespace tarn::cpu {

namespace {

std::string first_line_of(pid_t process, pid_t thread, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/{}", process, thread, name));
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string call_line_of(pid_t process, pid_t thread) { return first_line_of(process, thread, "syscall"); }

std::string schedules_of(pid_t process, pid_t thread) { return first_line_of(process, thread, "schedstat"); }

waiting_thread read_waiting_thread(pid_t process, pid_t thread, std::size_t bytes) {
  std::string schedules = schedules_of(process, thread);
  const std::string line = call_line_of(process, thread);
  const std::size_t last = line.rfind(' ');
  if (last == std::string::npos || last == 0) return {};
  const std::size_t before_last = line.rfind(' ', last - 1);
  if (before_last == std::string::npos) return {};
  waiting_thread result{std::stoull(line.substr(before_last + 1), nullptr, 16),
                        std::stoull(line.substr(last + 1), nullptr, 16),
                        {},
                        std::move(schedules)};
  const int memory = ::open(fmt::format("/proc/{}/mem", process).c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return {};
  result.bytes.resize(bytes);
  const ssize_t copied = ::pread(memory, result.bytes.data(), bytes, static_cast<off_t>(result.stack));
  ::close(memory);
  result.bytes.resize(copied < 0 ? 0 : static_cast<std::size_t>(copied));
  return result;
}

}  // namespace tarn::cpu
