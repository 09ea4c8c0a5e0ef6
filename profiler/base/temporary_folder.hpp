// A folder among the temporary ones, removed with all that is in it.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "profiler/base/failure.hpp"

namespace tarn::command {

class temporary_folder {
 public:
  // Throws a failure where the folder cannot be made.
  explicit temporary_folder(std::string_view name) {
    const char* const parent = std::getenv("TMPDIR");
    path_ = fmt::format("{}/{}-XXXXXX", parent == nullptr || *parent == '\0' ? "/tmp" : parent, name);
    if (::mkdtemp(path_.data()) == nullptr)
      fail(exit_code::io_error, "no temporary folder {}: {}; TMPDIR names another place", path_,
           system_error_text(errno));
    path_ = std::filesystem::canonical(path_);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tarn::command
