// A folder that is removed with the test, files in it, and hooks for the fake files.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "platform/fake/files.hpp"

namespace io_test {

namespace fake = tarn::platform::files::fake;

class folder {
 public:
  folder() {
    char name[] = "/tmp/tarn-io-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string file(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Draws the same numbers on every machine.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next_below(std::uint64_t bound) {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ % bound;
  }

 private:
  std::uint64_t state_;
};

/// Returns lines of 0 to `longest` lower-case letters, `bytes` in all or a little more; the last has no newline.
inline std::string text(std::uint64_t seed, std::size_t bytes, std::size_t longest) {
  numbers random(seed);
  std::string lines;
  while (lines.size() < bytes) {
    for (std::uint64_t left = random.next_below(longest + 1); left > 0; --left) {
      lines += static_cast<char>('a' + random.next_below(26));
    }
    lines += '\n';
  }
  return lines + "end";
}

/// Cuts every transfer short at random, and interrupts some calls first.
inline fake::verdict short_and_interrupted(numbers& random, const fake::call& call) {
  if (call.kind == fake::kind::read || call.kind == fake::kind::write || call.kind == fake::kind::read_at) {
    if (random.next_below(4) == 0) return {.error = EINTR};
    if (random.next_below(8) == 0) return {.error = EAGAIN};
    return {.limit = 1 + random.next_below(call.bytes < 20 ? 20 : call.bytes)};
  }
  return {};
}

/// Returns what() of the error that `body` throws; empty when it throws none.
template <class Error, class Body>
std::string thrown(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace io_test
