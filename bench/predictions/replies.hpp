// Answers each request by a text that is composed and sent. Remedy: recycle the text.
#pragma once
#include <charconv>
#include <string>
#include <string_view>

#include <tarn/recycle.hpp>
#include "predictions/work.hpp"

namespace predictions::replies {

inline void append_number(std::string& reply, std::uint32_t value) {
  char digits[12];
  reply.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
inline void put_together(std::string& reply, numbers& random) {
  reply += "{\"user\":";
  append_number(reply, random.below(100000));
  reply += ",\"items\":[";
  for (std::uint32_t numbers_left = random.below(12); numbers_left > 0; --numbers_left) {
    append_number(reply, random.below(1000));
    reply += ',';
  }
  reply += "0]}\n";
}
inline std::uint64_t send(std::string_view text) {
  std::uint64_t sum = text.size();
  for (const char character : text) sum = sum * 31 + static_cast<unsigned char>(character);
  return sum;
}

template <bool Warm>
[[gnu::noinline]] std::uint64_t answer(numbers& random) {
  if constexpr (Warm) {
    auto reply = tarn::recycle<std::string>();
    put_together(*reply, random);
    return send(*reply);
  } else {
    std::string reply;
    put_together(reply, random);
    return send(reply);
  }
}

template <bool Warm>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) sum = sum * 31 + answer<Warm>(random);
  return sum;
}

}  // namespace predictions::replies
