// Counts a letter in a file by the methods that need no library, and by the library.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tarn/io.hpp>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace bench {

constexpr char letter = 'A';

[[noreturn]] inline void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

/// Closes its descriptor when it is destroyed.
class descriptor {
 public:
  explicit descriptor(const std::string& path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) fail(path);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { close(number_); }
  int number() const { return number_; }

 private:
  int number_;
};

class stream {
 public:
  explicit stream(const std::string& path) : file_(std::fopen(path.c_str(), "r")) {
    if (file_ == nullptr) fail(path);
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { std::fclose(file_); }
  std::FILE* file() const { return file_; }

 private:
  std::FILE* file_;
};

class mapping {
 public:
  explicit mapping(const std::string& path, int flags = 0) {
    const descriptor input(path);
    struct stat facts {};
    if (fstat(input.number(), &facts) != 0) fail(path);
    bytes_ = static_cast<std::size_t>(facts.st_size);
    start_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED | flags, input.number(), 0);
    if (start_ == MAP_FAILED) fail(path);
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() { munmap(start_, bytes_); }
  std::string_view view() const { return {static_cast<const char*>(start_), bytes_}; }

 private:
  void* start_;
  std::size_t bytes_;
};

/// Reads until the end, a buffer at a time; `count` is called with the text of each.
template <class Count>
std::uint64_t count_read(int file, std::size_t buffer, Count count) {
  const auto block = std::make_unique<char[]>(buffer);
  std::uint64_t total = 0;
  ssize_t bytes;
  while ((bytes = read(file, block.get(), buffer)) > 0) total += count({block.get(), static_cast<std::size_t>(bytes)});
  if (bytes < 0) fail("read");
  return total;
}

inline std::uint64_t count_by_fgetc(const std::string& path) {
  const stream input(path);
  std::uint64_t total = 0;
  for (int byte; (byte = std::fgetc(input.file())) != EOF;) total += byte == letter;
  return total;
}

inline std::uint64_t count_by_getc_unlocked(const std::string& path) {
  const stream input(path);
  std::uint64_t total = 0;
  for (int byte; (byte = getc_unlocked(input.file())) != EOF;) total += byte == letter;
  return total;
}

inline std::uint64_t count_by_vectors(std::string_view text) { return tarn::io::count(text, letter); }

inline std::uint64_t count_by_reader(const std::string& path) {
  tarn::io::reader input(path);
  return tarn::io::count(input, letter);
}

inline std::uint64_t count_mapped_file(const std::string& path) {
  return tarn::io::count(tarn::io::mapped_file(path), letter);
}

}  // namespace bench
