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

inline std::uint64_t sum_of(const record& one) { return one.key * 31 + one.value % 7 + one.next; }

[[gnu::noinline]] inline std::uint64_t read_by_call(int file) {
  std::uint64_t sum = 0;
  for (record one; ::read(file, &one, sizeof one) == sizeof one;) sum = sum * 31 + sum_of(one);
  return sum;
}
[[gnu::noinline]] inline std::uint64_t read_by_buffer(int file) {
  std::uint64_t sum = 0;
  tarn::io::reader from(tarn::io::file::borrow(file, "records"));
  record one;
  while (from.read(&one, sizeof one) == sizeof one) sum = sum * 31 + sum_of(one);
  return sum;
}

template <bool Buffered>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  const temporary file;
  std::string all;
  for (int left = 20000; left > 0; --left) {
    const record one = {random.below(1000), random.below(1000000), random.below(10)};
    all.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  file.put(all);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    file.rewind();
    sum = sum * 31 + (Buffered ? read_by_buffer(file.number()) : read_by_call(file.number()));
  }
  return sum;
}

}  // namespace predictions::records
