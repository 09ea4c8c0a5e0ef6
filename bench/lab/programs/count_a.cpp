// lab-count-a: counts a letter in a file, by every method from a call for each byte to vectors over a mapping (source
// 1). Unit: one byte. `make` writes the file: the system calls of the others can be counted from outside (strace).
#include <exception>
#include <fstream>
#include <string>
#include <thread>

#include "bench/io/counting.hpp"
#include "work.hpp"

namespace {

using bench::descriptor;
using bench::letter;
using lab::outcome;
using lab::settings;

constexpr std::string_view program = "count-a";
/// Writes words of 1 to 12 letters, ten a line; the same number of bytes always has the same text.
void write_words(const std::string& path, std::uint64_t bytes) {
  bench::random_numbers random(1);
  tarn::io::writer output(path);
  std::string line_text;
  for (std::uint64_t line = 0; output.offset() < bytes; ++line) {
    line_text.clear();
    for (std::uint64_t letters = random.next() % 12 + 1, bits = random.next(); letters > 0; --letters, bits >>= 5) {
      line_text += bits % 32 < 26 ? static_cast<char>('a' + bits % 32) : letter;
    }
    line_text += line % 10 == 9 ? '\n' : ' ';
    output.write(std::string_view(line_text).substr(0, bytes - output.offset()));
  }
  output.close();
}

/// Reads one byte after the other, as the source does.
std::uint64_t one_by_one(std::string_view text) {
  std::uint64_t total = 0;
  for (const char byte : text) total += byte == letter;
  return total;
}

std::uint64_t read_byte(const std::string& path) { return bench::count_read(descriptor(path).number(), 1, one_by_one); }
std::uint64_t read_64k(const std::string& path) {
  return bench::count_read(descriptor(path).number(), 64 * 1024, one_by_one);
}

std::uint64_t by_istream(const std::string& path) {
  std::ifstream input(path, std::ios::binary);
  if (!input) bench::fail(path);
  std::uint64_t total = 0;
  for (char byte; input.get(byte);) total += byte == letter;
  return total;
}

std::uint64_t by_mmap(const std::string& path) { return one_by_one(bench::mapping(path).view()); }
std::uint64_t mmap_vectors(const std::string& path) { return bench::count_by_vectors(bench::mapping(path).view()); }

outcome make(const settings& parameters) {
  outcome result{.units = parameters["bytes"]};
  lab::stopwatch watch;
  write_words(parameters.text("file"), result.units);
  watch.stop(result);
  result.checksum = bench::count_mapped_file(parameters.text("file"));
  return result;
}

/// With threads=2 a second thread has existed, after which stdio locks each byte. With cold=1 the file's pages are
/// dropped from the page cache first, as far as the system allows it.
template <std::uint64_t (*Count)(const std::string&)>
outcome run(const settings& parameters) {
  const std::string& path = parameters.text("file");
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) bench::fail(path);
  if (parameters["threads"] > 1) std::thread([] {}).join();
  if (parameters["cold"] != 0) {
    const descriptor input(path);
    fdatasync(input.number());  // dirty pages are not dropped
    posix_fadvise(input.number(), 0, 0, POSIX_FADV_DONTNEED);
  }
  outcome result{.units = static_cast<std::uint64_t>(facts.st_size)};
  lab::stopwatch watch;
  result.checksum = Count(path);
  watch.stop(result);
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return lab::main_of(count, arguments, program,
                        {{.name = "file", .is_text = true},
                         {.name = "bytes", .usual = 408'850, .maximum = 10'000'000'000},
                         {.name = "threads", .usual = 1, .maximum = 2},
                         {.name = "cold", .usual = 0, .minimum = 0, .maximum = 1}},
                        {{"make", make},
                         {"read-byte", run<read_byte>},
                         {"fgetc", run<bench::count_by_fgetc>},
                         {"mmap", run<by_mmap>},
                         {"getc-unlocked", run<bench::count_by_getc_unlocked>},
                         {"istream", run<by_istream>},
                         {"read-64k", run<read_64k>},
                         {"mmap-vectors", run<mmap_vectors>},
                         {"reader", run<bench::count_by_reader>},
                         {"mapped-file", run<bench::count_mapped_file>}});
  } catch (const std::exception& error) {
    lab::give_up(program, error.what());
  }
}
