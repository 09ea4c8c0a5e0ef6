#include "guard/canary.hpp"

#include <atomic>
#include <bit>
#include <cstring>

#include "platform/random.hpp"

namespace tarn::guard::canary {
namespace {

// 0 means that it is not drawn yet. It is atomic because the first threads may draw at once; the first number stays.
constinit std::atomic<std::uint64_t> key{0};

constexpr std::uint64_t mixed(std::uint64_t number) noexcept {  // MurmurHash3's finaliser
  number ^= number >> 33;
  number *= 0xff51afd7ed558ccd;
  number ^= number >> 33;
  number *= 0xc4ceb9fe1a85ec53;
  return number ^ number >> 33;
}
std::uint64_t the_key() noexcept { return key.load(std::memory_order_relaxed); }

/// Returns eight bytes of the canary, from a multiple of eight on.
std::uint64_t pattern() noexcept { return mixed(the_key()) | 0x8080808080808080; }
char byte_at(const char* at, std::uint64_t word) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return static_cast<char>(word >> (reinterpret_cast<std::uintptr_t>(at) % 8 * 8));
}

/// Skips the bytes in [from, to) that repeat `word`.
char* skip(char* from, char* to, std::uint64_t word) noexcept {
  for (; from != to; ++from) {
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof word == 0) {
      std::uint64_t found;
      while (to - from >= static_cast<std::ptrdiff_t>(sizeof found) &&
             (std::memcpy(&found, from, sizeof found), found == word)) {
        from += sizeof found;
      }
      if (from == to) {
        break;
      }
    }
    if (*from != byte_at(from, word)) {
      break;
    }
  }
  return from;
}

}  // namespace

void draw() noexcept {
  std::uint64_t none = 0;
  key.compare_exchange_strong(none, platform::random_number() | 1, std::memory_order_relaxed);
}

std::uint64_t word_for(const void* address, std::uint64_t number) noexcept {
  return mixed((the_key() ^ reinterpret_cast<std::uintptr_t>(address)) + number * 0x9e3779b97f4a7c15) |
         0x8080808080808080;
}

std::uint64_t sum(const void* at, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  return mixed(mixed(mixed(word_for(at, 0) ^ a) ^ b) ^ c);
}

void fill(char* from, char* to) noexcept {
  const std::uint64_t word = pattern();
  for (; from != to && reinterpret_cast<std::uintptr_t>(from) % sizeof word != 0; ++from) {
    *from = byte_at(from, word);
  }
  for (; to - from >= static_cast<std::ptrdiff_t>(sizeof word); from += sizeof word) {
    std::memcpy(from, &word, sizeof word);
  }
  for (; from != to; ++from) {
    *from = byte_at(from, word);
  }
}

char* first_changed(char* from, char* to) noexcept { return skip(from, to, pattern()); }

char* last_changed(char* from, char* to) noexcept {
  const std::uint64_t word = pattern();
  while (to != from && to[-1] == byte_at(to - 1, word)) {
    --to;
  }
  return to;
}

char* first_other(char* from, char* to, unsigned char byte) noexcept {
  return skip(from, to, byte * std::uint64_t{0x0101010101010101});
}

}  // namespace tarn::guard::canary
