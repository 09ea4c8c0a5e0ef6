#include "profiler/base/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "profiler/base/failure.hpp"

namespace tarn::command {

output_file::~output_file() {
  if (file_ != nullptr && !is_output()) std::fclose(file_);
}

void output_file::put(std::string_view text) {
  if (file_ == nullptr) file_ = is_output() ? stdout : std::fopen(path_.c_str(), "wbe");
  is_open_ = file_ != nullptr;
  if (file_ == nullptr || std::fwrite(text.data(), 1, text.size(), file_) != text.size()) refuse();
}

void output_file::end() {
  put({});
  if (std::fflush(file_) != 0) refuse();
  if (!is_output() && std::fclose(std::exchange(file_, nullptr)) != 0) refuse();
}

std::string missing_folder_text(const std::string& path, int error) {
  const std::string folder = std::filesystem::path(path).parent_path();
  std::error_code ignored_error;
  const bool is_missing = error == ENOENT && !folder.empty() && !std::filesystem::exists(folder, ignored_error);
  return is_missing ? "; make the folder " + folder + " first" : "";
}

void output_file::refuse() {
  const int error = errno;
  std::error_code ignored_error;
  // A device, or the target of a link, stays.
  const auto status = std::filesystem::symlink_status(path_, ignored_error);
  if (is_open_ && !is_output() && std::filesystem::is_regular_file(status)) ::unlink(path_.c_str());
  fail(exit_code::io_error, "{}: {}{}", is_output() ? "standard output" : path_, system_error_text(error),
       missing_folder_text(path_, error));
}

}  // namespace tarn::command
