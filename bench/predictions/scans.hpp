// Unpacks scanned lines, some hundred kilobytes for each page. Remedy: hoist the page.
#pragma once
#include <vector>

#include "predictions/work.hpp"

namespace predictions::scans {

inline std::uint64_t unpack_into(std::vector<unsigned char>& page, numbers& random) {
  for (std::uint32_t runs = 2000 + random.next_below(1000); runs > 0; --runs)
    page.insert(page.end(), 64 + random.next_below(128), static_cast<unsigned char>(runs));
  std::uint64_t sum = page.size();
  for (std::size_t offset = 0; offset < page.size(); offset += 512) sum += page[offset];
  return sum;
}

[[gnu::noinline]] inline std::uint64_t unpack(numbers& random) {
  std::vector<unsigned char> page;
  return unpack_into(page, random);
}
[[gnu::noinline]] inline std::uint64_t unpack(numbers& random, std::vector<unsigned char>& buffer) {
  buffer.clear();
  return unpack_into(buffer, random);
}

template <bool Hoisted>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::vector<unsigned char> buffer;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds; ++round)
    sum = sum * 31 + (Hoisted ? unpack(random, buffer) : unpack(random));
  return sum;
}

}  // namespace predictions::scans
