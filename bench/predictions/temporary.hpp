// A file without a name for the programs that read and write one.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace predictions {

class temporary {
 public:
  temporary() : file_(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ < 0) std::abort();
  }
  temporary(const temporary&) = delete;
  temporary& operator=(const temporary&) = delete;
  ~temporary() { ::close(file_); }

  int number() const { return file_; }
  void rewind() const { ::lseek(file_, 0, SEEK_SET); }
  void put(std::string_view bytes) const {
    if (::write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }

 private:
  int file_;
};

}  // namespace predictions
