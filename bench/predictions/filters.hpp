// Filters a file, two hundred bytes at a time. Remedy: a buffer on both sides.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tarn/io/reader.hpp>
#include <tarn/io/writer.hpp>
#include "predictions/work.hpp"

namespace predictions::filters {

constexpr std::size_t piece = 200;

// A file without a name.
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

inline std::uint64_t turn(char* bytes, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t index = 0; index < count; ++index) sum += static_cast<unsigned char>(bytes[index] ^= 0x20);
  return sum;
}

[[gnu::noinline]] inline std::uint64_t filter_by_calls(int input, const temporary& output) {
  std::uint64_t sum = 0;
  std::array<char, piece> part;
  for (ssize_t bytes = 0; (bytes = ::read(input, part.data(), part.size())) > 0;) {
    sum = sum * 31 + turn(part.data(), static_cast<std::size_t>(bytes));
    output.put({part.data(), static_cast<std::size_t>(bytes)});
  }
  return sum;
}
[[gnu::noinline]] inline std::uint64_t filter_by_buffers(int from_file, const temporary& to_file) {
  tarn::io::reader input(tarn::io::file::borrow(from_file, "from"));
  tarn::io::writer output(tarn::io::file::borrow(to_file.number(), "to"));
  std::uint64_t sum = 0;
  std::array<char, piece> part;
  for (std::size_t bytes = 0; (bytes = input.read(part.data(), part.size())) > 0;) {
    sum = sum * 31 + turn(part.data(), bytes);
    output.write({part.data(), bytes});
  }
  return sum;
}

template <bool Buffered>
std::uint64_t run(std::uint64_t rounds) {
  const temporary input, output;
  input.put(std::string(2000 * piece, 'a'));
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    input.rewind();
    output.rewind();
    sum = sum * 31 + (Buffered ? filter_by_buffers(input.number(), output) : filter_by_calls(input.number(), output));
  }
  return sum;
}

}  // namespace predictions::filters
