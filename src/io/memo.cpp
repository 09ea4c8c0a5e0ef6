#include <tarn/io/memo.hpp>

#include <sys/stat.h>
#include <ctime>

#include "platform/platform.hpp"

namespace tarn::detail {

namespace {
constexpr std::int64_t ns_of(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
}  // namespace

std::uint64_t memo_now_ms() noexcept { return platform::now_ms(); }

file_stamp stamp_of(const char* path) noexcept {
  struct stat seen;
  if (::stat(path, &seen) != 0) {
    return {};
  }
  return {.device = seen.st_dev,
          .inode = seen.st_ino,
          .bytes = static_cast<std::uint64_t>(seen.st_size),
          .modified_ns = ns_of(seen.st_mtim),
          .changed_ns = ns_of(seen.st_ctim)};
}

bool is_settled(const file_stamp& stamp) noexcept {
  constexpr std::int64_t largest_step_ns = 20'000'000;  // the kernel's clock ticks 100 times a second, or more often
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now) - stamp.changed_ns > largest_step_ns;
}

}  // namespace tarn::detail
