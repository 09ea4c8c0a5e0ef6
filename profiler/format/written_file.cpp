// Looks for what others have done to the file of a writer while it was written.
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "profiler/format/writer.hpp"

namespace tarn::format {

bool writer::is_at(const std::string& path) const {
  const std::string file = "/proc/self/fd/" + std::to_string(file_);
  std::error_code ignored;
  return !std::filesystem::is_regular_file(file, ignored) || std::filesystem::equivalent(file, path, ignored);
}

bool writer::is_truncated() const {
  struct stat facts {};
  return ::fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode) && static_cast<std::uint64_t>(facts.st_size) < bytes_;
}

void writer::copy_to(const std::string& path) const {
  std::filesystem::copy_file("/proc/self/fd/" + std::to_string(file_), path);
}

}  // namespace tarn::format
