// Tells the recorder's library from the program's modules.
#pragma once

#include <string_view>

namespace tarn::format {

// Returns whether a module's path is that of libtarn-record.so: the installed file, or the file without a name from
// which `tarn record --pid` loads it into a running process ("/memfd:libtarn-record.so (deleted)").
constexpr bool is_recorder_library(std::string_view path) noexcept {
  constexpr std::string_view deleted = " (deleted)", name = "libtarn-record.so";
  if (path.ends_with(deleted)) path.remove_suffix(deleted.size());
  if (!path.ends_with(name)) return false;
  path.remove_suffix(name.size());
  return path.empty() || path.ends_with('/') || path.ends_with("memfd:");
}

}  // namespace tarn::format
