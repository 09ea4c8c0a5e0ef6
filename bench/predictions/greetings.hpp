// Each request opens the file with the text to send. Remedy: a cache of its content.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "predictions/work.hpp"

namespace predictions::greetings {

inline std::uint64_t sum_of(std::string_view text) {
  return text.size() * 31 + static_cast<unsigned char>(text.front());
}

[[gnu::noinline]] inline std::string read_greeting() {
  std::array<char, 4096> text;
  const int file = ::open("/usr/lib/os-release", O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = ::read(file, text.data(), text.size());
  ::close(file);
  return {text.data(), static_cast<std::size_t>(bytes < 1 ? 1 : bytes)};
}

template <bool Remembered>
std::uint64_t run(std::uint64_t rounds) {
  numbers random;
  std::uint64_t sum = 0;
  std::string greeting;
  for (std::uint64_t round = 0; round < rounds * 1000; ++round) {
    if (!Remembered || greeting.empty()) greeting = read_greeting();
    sum = sum * 31 + sum_of(greeting) + random.next_below(100);
  }
  return sum;
}

}  // namespace predictions::greetings
