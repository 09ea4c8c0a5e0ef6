// Each request checks whether the settings file has changed. Remedy: a cache, tarn::io::memo.
#pragma once
#include <sys/stat.h>

#include <string>

#include <tarn/io/memo.hpp>
#include "predictions/work.hpp"

namespace predictions::settings {

constexpr auto path = "/usr/lib/os-release";

[[gnu::noinline]] inline std::int64_t time_of_change(const char* file) {
  struct stat facts {};
  return ::stat(file, &facts) == 0 ? facts.st_mtim.tv_sec : 0;
}

template <bool Remembered>
std::uint64_t run(std::uint64_t rounds) {
  tarn::io::memo<std::string, std::int64_t> times(
      [](const std::string& changed_path) { return time_of_change(changed_path.c_str()); });
  const std::string key = path;
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) {
    const std::int64_t changed = Remembered ? times.get(key).value_or(0) : time_of_change(path);
    sum = sum * 31 + random.below(100) + (changed == 0 ? 1 : 0);
  }
  return sum;
}

}  // namespace predictions::settings
