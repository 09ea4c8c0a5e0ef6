// A target of ./dev fuzz: the content of a journal's file. Whatever it is, reading it ends and returns nothing from
// outside the file; opening it to append either reports the damage or appends a line that can be read.
//
// Checksums would hide everything behind them from the fuzzer. So the first byte says which of them are corrected: 1:
// the header's · 2: the chunks' · 4: the lines'.
#include <tarn/io/journal.hpp>
#include <tarn/io/journal_reader.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "io/journal_format.hpp"

namespace {

using namespace tarn::io;
using namespace tarn::io::journal_format;

constexpr std::size_t max_bytes = 64 * 1024;

template <class Struct>
Struct read_struct(const std::string& file, std::size_t offset) {
  Struct value{};
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

template <class Struct>
void put(std::string& file, std::size_t offset, const Struct& value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

void fit_lines(std::string& file, std::size_t offset, std::size_t bytes, std::uint64_t number, std::uint64_t key) {
  for (chunk_walk walk(file.data() + offset, bytes); walk.next(); ++number) {
    if (walk.is_torn()) continue;
    line_header line = walk.line();
    line.check = check_of(walk.text(), walk.bytes(), line.mark, line.tick, number, key);
    put(file, offset + walk.offset(), line);
  }
}

/// Writes the input's bytes behind a header that may be valid.
std::string make_file(const std::uint8_t* bytes, std::size_t count) {
  const std::uint8_t fitting = bytes[0];
  std::string file(reinterpret_cast<const char*>(bytes) + 1, count - 1);
  if ((fitting & 1) == 0 || file.size() < sizeof(header)) return file;
  // The input cannot hold the rest of the header's page.
  file.insert(sizeof(header), std::string(header_bytes - sizeof(header), '\0'));
  auto first = read_struct<header>(file, 0);
  std::memcpy(first.magic, magic, sizeof magic);
  first.version = version;
  first.chunk_bytes = min_chunk_bytes << first.chunk_bytes % 3;
  first.chunks = min_chunks + first.chunks % 8;
  first.check = check_of(first);
  put(file, 0, first);
  for (std::uint64_t slot = 0; slot < first.chunks; ++slot) {
    const std::size_t offset = header_bytes + slot * first.chunk_bytes;
    if (offset + sizeof(chunk_header) > file.size()) break;
    auto head = read_struct<chunk_header>(file, offset);
    if ((fitting & 2) != 0 && head.number != 0) {
      head.number = head.number % 16 * first.chunks + slot + 1;
      head.check = check_of(head, first.key);
      put(file, offset, head);
    }
    const std::size_t left = std::min<std::size_t>(first.chunk_bytes, file.size() - offset);
    if ((fitting & 4) != 0) fit_lines(file, offset, left, head.first, first.key);
  }
  return file;
}

void check(bool is_true) {
  if (!is_true) std::abort();
}

std::size_t read_all(const std::string& path) {
  const journal_reader journal(path);
  std::size_t bytes = 0, whole = 0, torn = 0, damaged = 0;
  for (const journal_line& line : journal.lines()) {
    for (const char character : line.text)
      bytes += static_cast<unsigned char>(character);  // reads each byte, for the sanitizers
    whole += line.state == journal_line::condition::whole;
    torn += line.state == journal_line::condition::torn;
    damaged += line.state == journal_line::condition::damaged;
    check(line.state == journal_line::condition::whole || line.text.empty());
  }
  check(torn == journal.torn_lines() && damaged == journal.damaged_lines());
  return whole + (bytes == ~std::size_t{0});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count == 0 || count > max_bytes) return 0;
  static const std::string path = "/dev/shm/tarn-fuzz-" + std::to_string(getpid());
  const std::string file = make_file(bytes, count);
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check(descriptor >= 0 && write(descriptor, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  close(descriptor);
  try {
    read_all(path);
  } catch (const error&) {
  }
  try {
    std::uint64_t number;
    {
      journal log(path, {.bytes = 8192, .chunk_bytes = 1024, .lanes = 2, .prefault_bytes = 0});
      number = log.append("a line that was appended");
    }
    const journal_reader journal(path);
    check(std::ranges::any_of(journal.lines(), [number](const journal_line& line) {
      return line.number == number && line.state == journal_line::condition::whole &&
             line.text == "a line that was appended";
    }));
  } catch (const error&) {  // reports that this is not one of our journals
  }
  unlink(path.c_str());
  return 0;
}
