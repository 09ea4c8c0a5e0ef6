// Writes messages into bytes, field by field, and passes them on. Remedy: recycle the bytes.
#pragma once
#include <cstring>
#include <vector>

#include <tarn/recycle.hpp>
#include "predictions/work.hpp"

namespace predictions::messages {

using bytes = std::vector<unsigned char>;

template <class Number>
void put(bytes& message, Number value) {
  unsigned char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  message.insert(message.end(), raw, raw + sizeof value);
}
inline std::uint64_t write_message(bytes& message, numbers& random) {
  put(message, std::uint32_t{0x7461726e});
  for (std::uint32_t fields_left = 3 + random.below(20); fields_left > 0; --fields_left) {
    put(message, static_cast<std::uint16_t>(fields_left));
    put(message, std::uint64_t{random.below(1000000)});
  }
  std::uint64_t sum = message.size();
  for (std::size_t offset = 0; offset < message.size(); offset += 16) sum = sum * 31 + message[offset];
  return sum;
}

template <bool Warm>
[[gnu::noinline]] std::uint64_t send_message(numbers& random) {
  if constexpr (Warm) {
    auto message = tarn::recycle<bytes>();
    return write_message(*message, random);
  } else {
    bytes message;
    return write_message(message, random);
  }
}

template <bool Warm>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) sum = sum * 31 + send_message<Warm>(random);
  return sum;
}

}  // namespace predictions::messages
