#include "memory/heap/canary.hpp"

#include <atomic>
#include <bit>
#include <cstring>

#include "platform/random.hpp"

namespace tarn::heaps::canary {
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
char byte_at(const char* address, std::uint64_t word) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return static_cast<char>(word >> (reinterpret_cast<std::uintptr_t>(address) % 8 * 8));
}

/// Skips the bytes in [begin, end) that repeat `word`.
char* skip(char* begin, char* end, std::uint64_t word) noexcept {
  for (; begin != end; ++begin) {
    if (reinterpret_cast<std::uintptr_t>(begin) % sizeof word == 0) {
      std::uint64_t chunk;
      while (end - begin >= static_cast<std::ptrdiff_t>(sizeof chunk) &&
             (std::memcpy(&chunk, begin, sizeof chunk), chunk == word)) {
        begin += sizeof chunk;
      }
      if (begin == end) break;
    }
    if (*begin != byte_at(begin, word)) break;
  }
  return begin;
}

}  // namespace

void draw() noexcept {
  std::uint64_t undrawn = 0;
  key.compare_exchange_strong(undrawn, platform::random_number() | 1, std::memory_order_relaxed);
}

std::uint64_t word_for(const void* address, std::uint64_t number) noexcept {
  return mixed((the_key() ^ reinterpret_cast<std::uintptr_t>(address)) + number * 0x9e3779b97f4a7c15) |
         0x8080808080808080;
}

std::uint64_t sum(const void* address, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  return mixed(mixed(mixed(word_for(address, 0) ^ a) ^ b) ^ c);
}

void fill(char* begin, char* end) noexcept {
  const std::uint64_t word = pattern();
  for (; begin != end && reinterpret_cast<std::uintptr_t>(begin) % sizeof word != 0; ++begin) {
    *begin = byte_at(begin, word);
  }
  for (; end - begin >= static_cast<std::ptrdiff_t>(sizeof word); begin += sizeof word) {
    std::memcpy(begin, &word, sizeof word);
  }
  for (; begin != end; ++begin) *begin = byte_at(begin, word);
}

char* first_changed(char* begin, char* end) noexcept { return skip(begin, end, pattern()); }

char* last_changed(char* begin, char* end) noexcept {
  const std::uint64_t word = pattern();
  while (end != begin && end[-1] == byte_at(end - 1, word)) --end;
  return end;
}

char* first_other(char* begin, char* end, unsigned char byte) noexcept {
  return skip(begin, end, byte * std::uint64_t{0x0101010101010101});
}

}  // namespace tarn::heaps::canary
