// Unpacks each packet into a buffer of its own. Remedy: recycle the buffer.
#pragma once
#include <string>

#include <tarn/recycle.hpp>
#include "predictions/work.hpp"

namespace predictions::packets {

inline void unpack(std::string& packet, numbers& random) {
  packet.resize(100 + random.next_below(700), static_cast<char>('a' + random.next_below(26)));
}

template <bool Warm>
[[gnu::noinline]] std::uint64_t take_packet(numbers& random) {
  const auto sum_of = [](const std::string& text) {
    return text.size() + static_cast<unsigned char>(text[text.size() / 3]);
  };
  if constexpr (Warm) {
    auto buffer = tarn::recycle<std::string>();
    unpack(*buffer, random);
    return sum_of(*buffer);
  } else {
    std::string buffer;
    unpack(buffer, random);
    return sum_of(buffer);
  }
}

template <bool Warm>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) sum = sum * 31 + take_packet<Warm>(random);
  return sum;
}

}  // namespace predictions::packets
