// lab-count-a: counts a letter in a file, by every method from a call for each byte to vectors over a mapping (source
// 1). Unit: one byte. `make` writes the file: the system calls of the others can be counted from outside (strace).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tarn/io.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "work.hpp"

namespace {

using lab::outcome;
using lab::settings;

constexpr std::string_view program = "count-a";
constexpr char letter = 'A';

[[noreturn]] void fail(const std::string& path) { lab::give_up(program, path + ": " + std::strerror(errno)); }

/// Writes words of 1 to 12 letters, ten a line; the same number of bytes always has the same text.
void write_words(const std::string& path, std::uint64_t bytes) {
  bench::random_numbers random(1);
  tarn::io::writer output(path);
  std::string words;
  for (std::uint64_t line = 0; output.offset() < bytes; ++line) {
    words.clear();
    for (std::uint64_t letters = random.next() % 12 + 1, bits = random.next(); letters > 0; --letters, bits >>= 5) {
      words += bits % 32 < 26 ? static_cast<char>('a' + bits % 32) : letter;
    }
    words += line % 10 == 9 ? '\n' : ' ';
    output.write(std::string_view(words).substr(0, bytes - output.offset()));
  }
  output.close();
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
  explicit mapping(const std::string& path) {
    const descriptor input(path);
    struct stat facts {};
    if (fstat(input.number(), &facts) != 0) fail(path);
    bytes_ = static_cast<std::size_t>(facts.st_size);
    start_ = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, input.number(), 0);
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

/// Reads one byte after the other, as the source does.
std::uint64_t one_by_one(std::string_view text) {
  std::uint64_t total = 0;
  for (const char byte : text) total += byte == letter;
  return total;
}

template <class Count>
std::uint64_t by_read(const std::string& path, std::size_t buffer, Count count) {
  const descriptor input(path);
  const auto place = std::make_unique<char[]>(buffer);
  std::uint64_t total = 0;
  ssize_t got;
  while ((got = read(input.number(), place.get(), buffer)) > 0)
    total += count({place.get(), static_cast<std::size_t>(got)});
  if (got < 0) fail(path);
  return total;
}

std::uint64_t read_byte(const std::string& path) { return by_read(path, 1, one_by_one); }
std::uint64_t read_64k(const std::string& path) { return by_read(path, 64 * 1024, one_by_one); }

std::uint64_t by_fgetc(const std::string& path) {
  const stream input(path);
  std::uint64_t total = 0;
  for (int byte; (byte = std::fgetc(input.file())) != EOF;) total += byte == letter;
  return total;
}

std::uint64_t by_getc_unlocked(const std::string& path) {
  const stream input(path);
  std::uint64_t total = 0;
  for (int byte; (byte = getc_unlocked(input.file())) != EOF;) total += byte == letter;
  return total;
}

std::uint64_t by_istream(const std::string& path) {
  std::ifstream input(path, std::ios::binary);
  if (!input) fail(path);
  std::uint64_t total = 0;
  for (char byte; input.get(byte);) total += byte == letter;
  return total;
}

std::uint64_t by_mmap(const std::string& path) { return one_by_one(mapping(path).view()); }
std::uint64_t mmap_vectors(const std::string& path) { return tarn::io::count(mapping(path).view(), letter); }
std::uint64_t tarn_reader(const std::string& path) {
  tarn::io::reader input(path);
  return tarn::io::count(input, letter);
}
std::uint64_t tarn_mapped(const std::string& path) { return tarn::io::count(tarn::io::mapped_file(path), letter); }

outcome make(const settings& wanted) {
  outcome done{.units = wanted["bytes"]};
  lab::stopwatch watch;
  write_words(wanted.text("file"), done.units);
  watch.stop(done);
  done.checksum = tarn_mapped(wanted.text("file"));
  return done;
}

/// With threads=2 a second thread has existed, after which stdio locks each byte. With cold=1 the file's pages are
/// dropped from the page cache first, as far as the system allows it.
template <std::uint64_t (*Count)(const std::string&)>
outcome run(const settings& wanted) {
  const std::string& path = wanted.text("file");
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) fail(path);
  if (wanted["threads"] > 1) std::thread([] {}).join();
  if (wanted["cold"] != 0) {
    const descriptor input(path);
    fdatasync(input.number());  // dirty pages are not dropped
    posix_fadvise(input.number(), 0, 0, POSIX_FADV_DONTNEED);
  }
  outcome done{.units = static_cast<std::uint64_t>(facts.st_size)};
  lab::stopwatch watch;
  done.checksum = Count(path);
  watch.stop(done);
  return done;
}

}  // namespace

int main(int count, char** words) {
  try {
    return lab::main_of(count, words, program,
                        {{.name = "file", .is_text = true},
                         {.name = "bytes", .usual = 408'850, .maximum = 10'000'000'000},
                         {.name = "threads", .usual = 1, .maximum = 2},
                         {.name = "cold", .usual = 0, .minimum = 0, .maximum = 1}},
                        {{"make", make},
                         {"read-byte", run<read_byte>},
                         {"fgetc", run<by_fgetc>},
                         {"mmap", run<by_mmap>},
                         {"getc-unlocked", run<by_getc_unlocked>},
                         {"istream", run<by_istream>},
                         {"read-64k", run<read_64k>},
                         {"mmap-vectors", run<mmap_vectors>},
                         {"reader", run<tarn_reader>},
                         {"mapped-file", run<tarn_mapped>}});
  } catch (const tarn::io::error& error) {
    lab::give_up(program, error.what());
  }
}
