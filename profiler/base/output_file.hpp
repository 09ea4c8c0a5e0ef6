// Writes to a file or to standard output.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::command {

// Returns the next step where a file could not be made for this reason, an errno value, because it has no folder; else
// an empty text.
std::string missing_folder_text(const std::string& path, int error);

// The file is made when its first part is ready, so that an earlier failure leaves the old file. Both functions throw a
// failure if it cannot be written, and then remove the file, of which a part would be of no use.
class output_file {
 public:
  // "-" is standard output.
  explicit output_file(std::string path) : path_(std::move(path)) {}
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  void put(std::string_view text);
  // Flushes, and closes a file. The last part needs this call.
  void end();

 private:
  bool is_output() const { return path_ == "-"; }
  [[noreturn]] void refuse();

  std::string path_;
  std::FILE* file_ = nullptr;
  bool is_open_ = false;  // the file was opened
};

}  // namespace tarn::command
