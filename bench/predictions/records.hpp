// Records of 24 bytes are read one by one. Remedy: a buffer, tarn::io::reader.
#pragma once
#include <cstring>
#include <string>

#include <tarn/io/reader.hpp>
#include "predictions/temporary.hpp"
#include "predictions/work.hpp"

namespace predictions::records {

struct record {
  std::uint64_t key, value, next;
};

inline std::uint64_t sum_of(const record& entry) { return entry.key * 31 + entry.value % 7 + entry.next; }

[[gnu::noinline]] inline std::uint64_t read_by_call(int file) {
  std::uint64_t sum = 0;
  for (record entry; ::read(file, &entry, sizeof entry) == sizeof entry;) sum = sum * 31 + sum_of(entry);
  return sum;
}
[[gnu::noinline]] inline std::uint64_t read_by_buffer(int file) {
  std::uint64_t sum = 0;
  tarn::io::reader input(tarn::io::file::borrow(file, "records"));
  record entry;
  while (input.read(&entry, sizeof entry) == sizeof entry) sum = sum * 31 + sum_of(entry);
  return sum;
}

template <bool Buffered>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  const temporary file;
  std::string content;
  for (int left = 20000; left > 0; --left) {
    const record entry = {random.below(1000), random.below(1000000), random.below(10)};
    content.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  file.put(content);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    file.rewind();
    sum = sum * 31 + (Buffered ? read_by_buffer(file.number()) : read_by_call(file.number()));
  }
  return sum;
}

}  // namespace predictions::records
