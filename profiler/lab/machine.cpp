#include "profiler/lab/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <tarn/version.hpp>

#include <cctype>
#include <ctime>
#include <fstream>

namespace tarn::lab {
namespace {

std::string trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\n");
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

// Returns the value of the first line `key: value`, or the first line without a key.
std::string first_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (key.empty()) return trim(line);
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trim(line.substr(0, colon)) == key) return trim(line.substr(colon + 1));
  }
  return "unknown";
}

}  // namespace

unsigned cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
  utsname system{};
  ::uname(&system);
  double loads[3] = {};
  ::getloadavg(loads, 3);
  const std::time_t now = std::time(nullptr);
#if defined(__clang__)
  const char* const compiler = "Clang " __clang_version__;
#else
  const char* const compiler = "GCC " __VERSION__;
#endif
  return {
      {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now))},
      {"tarn", fmt::format("{}.{}.{}", TARN_VERSION_MAJOR, TARN_VERSION_MINOR, TARN_VERSION_PATCH)},
      {"cpu", first_of("/proc/cpuinfo", "model name") + " " + system.machine},
      {"cores", std::to_string(cores())},
      {"memory", first_of("/proc/meminfo", "MemTotal")},
      {"kernel", std::string(system.sysname) + " " + system.release},
      {"libc", fmt::format("glibc {}", ::gnu_get_libc_version())},
      {"compiler", compiler},
      {"transparent huge pages", first_of("/sys/kernel/mm/transparent_hugepage/enabled", "")},
      {"load average at start", fmt::format("{:.2f} {:.2f} {:.2f}", loads[0], loads[1], loads[2])},
  };
}

std::string machine_name(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string name, cores = "1";
  for (const auto& [key, value] : facts) {
    if (key == "cpu") {
      for (const char character : value) {
        const auto letter = static_cast<unsigned char>(character);
        if (std::isalnum(letter) != 0) {
          name += static_cast<char>(std::tolower(letter));
        } else if (!name.empty() && name.back() != '-') {
          name += '-';
        }
      }
    }
    if (key == "cores") cores = value;
  }
  while (name.ends_with('-')) name.pop_back();
  return fmt::format("{}-{}-core{}", name.empty() ? "unknown" : name, cores, cores == "1" ? "" : "s");
}

}  // namespace tarn::lab
