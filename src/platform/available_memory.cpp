// Implements available_memory() on Linux. It runs inside malloc, so it allocates nothing, leaves errno alone, and makes
// its system calls without the C library's functions, which are cancellation points.
#include "platform/available_memory.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/errno_kept.hpp"
#include "base/text.hpp"
#include "platform/platform.hpp"

namespace tarn::platform {
namespace {

constexpr std::size_t unknown = SIZE_MAX;
using path_text = base::text_buffer<640>;

/// Holds the first bytes of a file, or nothing if it cannot be read.
class file_start {
 public:
  explicit file_start(path_text& path) noexcept {
    path.append('\0');
    const long file =
        path.is_truncated() ? -1 : syscall(SYS_openat, AT_FDCWD, path.view().data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const long count = syscall(SYS_read, file, bytes_, sizeof bytes_);
    size_ = count < 0 ? 0 : static_cast<std::size_t>(count);
    syscall(SYS_close, file);
  }
  std::string_view view() const noexcept { return {bytes_, size_}; }

 private:
  char bytes_[2048];
  std::size_t size_ = 0;
};

// Does what substr() does, which may throw: libtarn-malloc.so is without the C++ runtime.
std::string_view part_of(std::string_view text, std::size_t begin, std::size_t end) noexcept {
  end = std::min(end, text.size());
  return begin < end ? std::string_view(text.data() + begin, end - begin) : std::string_view();
}

// Returns the number at the start of `text`, behind spaces, or `unknown`.
std::size_t number_in(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::size_t number = 0;
  bool has_digits = false;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    // std::from_chars would leave functions of the C++ library in libtarn-malloc.a.
    if (__builtin_mul_overflow(number, std::size_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<std::size_t>(text.front() - '0'), &number)) {
      return unknown;
    }
    has_digits = true;
  }
  return has_digits ? number : unknown;
}

// Returns the number in the line that begins with `name`, or `otherwise`.
std::size_t number_behind(std::string_view text, std::string_view name, std::size_t otherwise) noexcept {
  while (!text.empty()) {
    if (part_of(text, 0, name.size()) == name) {
      const std::size_t number = number_in(part_of(text, name.size(), text.size()));
      return number == unknown ? otherwise : number;
    }
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return otherwise;
}

std::size_t sum(std::size_t left, std::size_t right) noexcept {
  return left > unknown - right ? unknown : left + right;
}
std::size_t difference(std::size_t left, std::size_t right) noexcept { return left > right ? left - right : 0; }

struct cgroup_files {
  std::string_view limit, usage, active, inactive, swap_limit, swap_used;
};
constexpr cgroup_files version_1 = {
    "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_active_file ", "total_inactive_file ", "", ""};
constexpr cgroup_files version_2 = {"/memory.max",    "/memory.current",  "active_file ",
                                    "inactive_file ", "/memory.swap.max", "/memory.swap.current"};

/// Reads the files of control groups.
struct cgroup_reader {
  std::string_view root, mount, group;
  const cgroup_files& names;
  std::size_t free_swap;

  [[gnu::noinline]] std::size_t number_of(std::string_view name, std::size_t otherwise) const noexcept {
    path_text path;
    path.append(root).append(mount).append(group).append(name);
    const std::size_t number = number_in(file_start(path).view());
    return number == unknown ? otherwise : number;
  }

  /// Returns the bytes of cached files, which the kernel can drop.
  [[gnu::noinline]] std::size_t cached_bytes() const noexcept {
    path_text path;
    path.append(root).append(mount).append(group).append("/memory.stat");
    const file_start stat(path);
    return sum(number_behind(stat.view(), names.active, 0), number_behind(stat.view(), names.inactive, 0));
  }

  std::size_t room() const noexcept {
    const std::size_t limit = number_of(names.limit, unknown);
    const std::size_t used_bytes = limit == unknown ? unknown : number_of(names.usage, unknown);
    if (used_bytes == unknown) {
      return unknown;  // "max", for example
    }
    const std::size_t swap =
        names.swap_limit.empty() || free_swap == 0
            ? free_swap
            : std::min(free_swap, difference(number_of(names.swap_limit, unknown), number_of(names.swap_used, 0)));
    return sum(difference(limit, difference(used_bytes, cached_bytes())), swap);
  }

  /// Returns the least room of the group and those that it belongs to. In a container only the last ones may exist.
  std::size_t min_room() noexcept {
    if (group == "/" || group.find("/..") != std::string_view::npos) {
      group = {};
    }
    std::size_t minimum = room();
    while (!group.empty()) {
      const std::size_t end = group.rfind('/');
      group = part_of(group, 0, end == std::string_view::npos ? 0 : end);
      minimum = std::min(minimum, room());
    }
    return minimum;
  }
};

[[gnu::noinline]] std::size_t free_of_machine(std::string_view root, std::size_t* free_swap) noexcept {
  path_text path;
  path.append(root).append("/proc/meminfo");
  const file_start info(path);
  *free_swap = number_behind(info.view(), "SwapFree:", 0) * 1024;
  const std::size_t available = number_behind(info.view(), "MemAvailable:", unknown);
  return available == unknown ? unknown : sum(available * 1024, *free_swap);
}

}  // namespace

std::size_t available_memory_below(std::string_view root) noexcept {
  const base::errno_kept keep;
  std::size_t free_swap = 0;
  std::size_t minimum = free_of_machine(root, &free_swap);
  path_text path;
  path.append(root).append("/proc/self/cgroup");
  const file_start groups(path);
  for (std::string_view unread = groups.view(); !unread.empty();) {
    const std::string_view line = part_of(unread, 0, unread.find('\n'));
    unread.remove_prefix(std::min(line.size() + 1, unread.size()));
    // A line is NUMBER:CONTROLLERS:PATH; version 2 has no controllers here.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = part_of(line, first + 1, second);
    const std::string_view group = part_of(line, second + 1, line.size());
    if (controllers.empty()) {
      minimum = std::min(minimum, cgroup_reader{root, "/sys/fs/cgroup", group, version_2, free_swap}.min_room());
    } else if (controllers == "memory") {
      minimum = std::min(minimum, cgroup_reader{root, "/sys/fs/cgroup/memory", group, version_1, free_swap}.min_room());
    }
  }
  return minimum;
}

std::size_t available_memory() noexcept { return available_memory_below({}); }

}  // namespace tarn::platform
