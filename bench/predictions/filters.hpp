// Filters a file, two hundred bytes at a time. Remedy: a buffer on both sides.
#pragma once
#include <array>
#include <string>

#include <tarn/io/reader.hpp>
#include <tarn/io/writer.hpp>
#include "predictions/temporary.hpp"
#include "predictions/work.hpp"

namespace predictions::filters {

constexpr std::size_t piece = 200;

inline std::uint64_t turn(char* bytes, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < count; ++at) sum += static_cast<unsigned char>(bytes[at] ^= 0x20);
  return sum;
}

[[gnu::noinline]] inline std::uint64_t filter_by_calls(int from, const temporary& to) {
  std::uint64_t sum = 0;
  std::array<char, piece> part;
  for (ssize_t got = 0; (got = ::read(from, part.data(), part.size())) > 0;) {
    sum = sum * 31 + turn(part.data(), static_cast<std::size_t>(got));
    to.put({part.data(), static_cast<std::size_t>(got)});
  }
  return sum;
}
[[gnu::noinline]] inline std::uint64_t filter_by_buffers(int from_file, const temporary& to_file) {
  tarn::io::reader from(tarn::io::file::borrow(from_file, "from"));
  tarn::io::writer to(tarn::io::file::borrow(to_file.number(), "to"));
  std::uint64_t sum = 0;
  std::array<char, piece> part;
  for (std::size_t got = 0; (got = from.read(part.data(), part.size())) > 0;) {
    sum = sum * 31 + turn(part.data(), got);
    to.write({part.data(), got});
  }
  return sum;
}

template <bool Buffered>
std::uint64_t run(std::uint64_t rounds) {
  const temporary from, to;
  from.put(std::string(2000 * piece, 'a'));
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    from.rewind();
    to.rewind();
    sum = sum * 31 + (Buffered ? filter_by_buffers(from.number(), to) : filter_by_calls(from.number(), to));
  }
  return sum;
}

}  // namespace predictions::filters
