// A file in memory, which needs no folder.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/base/failure.hpp"

namespace tarn::command {

class memory_file {
 public:
  // An inherited file is open under the same number in the programs that this process starts. Throws a failure without
  // memory.
  explicit memory_file(bool is_inherited = false) : file_(::memfd_create("tarn", is_inherited ? 0 : MFD_CLOEXEC)) {
    if (file_ < 0) fail(exit_code::no_memory, "no memory for a temporary file: {}", system_error_text(errno));
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(file_); }

  int number() const { return file_; }
  // Returns the path by which this process opens the file, and each one that inherits it.
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

  void write(std::string_view content) const {
    while (!content.empty()) {
      const ssize_t written = ::write(file_, content.data(), content.size());
      if (written < 0 && errno != EINTR)
        fail(exit_code::no_memory, "no memory for a temporary file: {}", system_error_text(errno));
      if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(file_, 0, SEEK_SET);
  }

  std::string read() const {
    ::lseek(file_, 0, SEEK_SET);
    std::string content;
    std::vector<char> part(1 << 16);  // not on the stack, which may be small
    for (ssize_t bytes_read = 0; (bytes_read = ::read(file_, part.data(), part.size())) != 0;) {
      if (bytes_read > 0) content.append(part.data(), static_cast<std::size_t>(bytes_read));
      if (bytes_read < 0 && errno != EINTR) break;
    }
    return content;
  }

 private:
  int file_;
};

}  // namespace tarn::command
