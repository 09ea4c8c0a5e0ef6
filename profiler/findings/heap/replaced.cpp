#include "profiler/findings/heap/replaced.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "profiler/format/build_id.hpp"

namespace tarn::command {
namespace {

// Returns an empty text for a file that can be opened, and for one that is missing.
std::string reason_not_to_open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno == ENOENT || errno == ENOTDIR ? "" : std::strerror(errno);
  ::close(file);
  return {};
}

}  // namespace

std::vector<const format::module_facts*> unreadable_modules(const format::recording& recording) {
  std::vector<const format::module_facts*> changed;
  for (const format::module_facts& module : recording.modules) {
    // A name without a slash, such as that of the kernel's own library, is no file, and a recorder that was loaded
    // later is a file of that process alone.
    if (!module.path.starts_with('/') || module.path.starts_with("/proc/") ||
        format::build_id_of(module.path) == module.build_id)
      continue;
    changed.push_back(&module);
  }
  return changed;
}

std::string replaced_text(const format::recording& recording) {
  const std::vector<const format::module_facts*> changed = unreadable_modules(recording);
  if (changed.empty()) return {};
  const std::string& path = changed.front()->path;
  if (const std::string reason = reason_not_to_open(path); !reason.empty())
    return fmt::format("{} cannot be opened ({}): its functions have no names here", path, reason);
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  const bool was_read = !changed.front()->build_id.empty();
  const std::string other_files = changed.size() == 1 ? ""
                                                      : fmt::format(" ({} more {}, too)", changed.size() - 1,
                                                                    changed.size() == 2 ? "file" : "files");
  return fmt::format("{} {}{}: its functions have no names here", path,
                     !is_there  ? "is missing"
                     : was_read ? "was replaced since the program loaded it"
                                : "had no build id, or could not be read, when it was recorded",
                     other_files);
}

}  // namespace tarn::command
