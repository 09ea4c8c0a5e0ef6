#include "profiler/launch/library.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

namespace fs = std::filesystem;

void check_readable(const std::string& library_name, const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) fail(exit_code::missing, "{}: is a directory, not {}", path, library_name);
  if (::access(path.c_str(), R_OK) != 0) fail(exit_code::missing, "{}: {}", path, system_error_text(errno));
}

std::string beside_this_executable(const std::string& library_name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) fail(exit_code::missing, "cannot find {}: /proc is not mounted; use --lib PATH", library_name);
  // The installed tree comes first, then the build tree. TARN_LIBRARY_FOLDER leads from bin/ to lib/ in the former.
  for (const char* const folder : {TARN_LIBRARY_FOLDER, "../lib"}) {
    const fs::path library = (self.parent_path() / folder / library_name).lexically_normal();
    if (fs::exists(library, error)) return library.string();
  }
  fail(exit_code::missing, "cannot find {} in {}; use --lib PATH", library_name,
       (self.parent_path() / TARN_LIBRARY_FOLDER).lexically_normal().string());
}

}  // namespace

std::string find_library(const std::string& name, const std::string& chosen_path, bool is_preloaded) {
  const std::string path =
      chosen_path.empty() ? beside_this_executable(name) : fs::absolute(chosen_path).lexically_normal().string();
  check_readable(name, path);
  if (is_preloaded && path.find_first_of(" :") != std::string::npos) {
    fail(exit_code::usage, "{}: LD_PRELOAD cannot name a path with a space or a colon in it", path);
  }
  return path;
}

}  // namespace tarn::command
