#include "profiler/launch/machine_cache.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tarn/version.hpp>

#include "profiler/format/build_id.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string processor() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";  // 64-bit Arm does not name it
}

std::string date_of(std::time_t time) {
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%FT%TZ", std::gmtime(&time));
  return date.data();
}

// Returns an empty path if there is no home folder for the file.
fs::path path_of(const std::string& file_name) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "tarn" / file_name;
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "tarn" / file_name;
  return {};
}

}  // namespace

analyse::cost_facts facts_of_today() {
  utsname system{};
  ::uname(&system);
  return {fmt::format("{}, {} of them; {} {}", processor(), ::sysconf(_SC_NPROCESSORS_ONLN), system.sysname,
                      system.release),
          std::string("glibc ") + ::gnu_get_libc_version(),
          fmt::format("{}.{}.{} {}", TARN_VERSION_MAJOR, TARN_VERSION_MINOR, TARN_VERSION_PATCH,
                      format::build_id_of("/proc/self/exe")),
          date_of(std::time(nullptr))};
}

std::string date_before_now(std::chrono::seconds age) { return date_of(std::time(nullptr) - age.count()); }

json read_cached(const std::string& file_name) {
  const fs::path path = path_of(file_name);
  if (path.empty()) return nullptr;
  std::ifstream input(path);
  json content = json::parse(input, nullptr, false);
  return content.is_discarded() ? json(nullptr) : content;
}

void cache(const std::string& file_name, const json& content) {
  const fs::path path = path_of(file_name);
  if (path.empty()) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path next = path.string() + '.' + std::to_string(::getpid());
  {
    std::ofstream output(next);
    output << content.dump(1) << '\n';
    if (!output.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(next, path, error);
  if (error) fs::remove(next, error);
}

bool calibration_time::is_disturbed() const {
  constexpr double max_ratio = 1.5;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin_;
  return wall.count() > max_ratio * (cpu_seconds_of(RUSAGE_CHILDREN) - children_before_);
}

}  // namespace tarn::command
