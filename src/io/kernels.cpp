#include "io/kernels.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tarn::io {
namespace {

// ---------------------------------------------------------------- any processor, by the compiler's vectors

template <int Width>
struct vector {
  using type [[gnu::vector_size(Width)]] = unsigned char;
};

// Counts a vector of bytes into one byte per lane. Works from any address, in three instructions.
template <class Vector>
[[gnu::always_inline]] inline void count_matches(Vector& sum, const char* source, char byte) noexcept {
  Vector loaded;
  std::memcpy(&loaded, source, sizeof loaded);
  sum -= reinterpret_cast<Vector>(loaded == static_cast<unsigned char>(byte));
}

// Keeps four sums of one byte per lane, and empties them before they overflow. std::count widens every byte to 64
// bits.
template <int Width>
[[gnu::always_inline]] inline std::size_t count_by(const char* bytes, std::size_t size, char byte) noexcept {
  using bytes_of_vector = typename vector<Width>::type;
  std::size_t total = 0;
  while (size >= 4 * Width) {
    const std::size_t rounds = std::min<std::size_t>(size / (4 * Width), 255);
    bytes_of_vector sum0{}, sum1{}, sum2{}, sum3{};
    for (std::size_t round = 0; round < rounds; ++round, bytes += 4 * Width) {
      count_matches(sum0, bytes, byte);
      count_matches(sum1, bytes + Width, byte);
      count_matches(sum2, bytes + 2 * Width, byte);
      count_matches(sum3, bytes + 3 * Width, byte);
    }
    for (int lane = 0; lane < Width; ++lane) total += std::size_t{sum0[lane]} + sum1[lane] + sum2[lane] + sum3[lane];
    size -= rounds * 4 * Width;
  }
  for (; size > 0; --size, ++bytes) total += *bytes == byte;
  return total;
}

std::size_t count_portable(const char* bytes, std::size_t size, char byte) noexcept {
  return count_by<16>(bytes, size, byte);
}

void masks_portable(const char* bytes, std::size_t word_count, char byte, std::uint64_t* masks) noexcept {
  constexpr std::uint64_t one_in_each = 0x0101010101010101u, low_bits = 0x7f7f7f7f7f7f7f7fu;
  for (std::size_t word = 0; word < word_count; ++word) {
    std::uint64_t mask = 0;
    for (unsigned part = 0; part < 8; ++part, bytes += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes, 8);
      eight ^= one_in_each * static_cast<unsigned char>(byte);
      const std::uint64_t high_bits =
          ~(((eight & low_bits) + low_bits) | eight | low_bits);  // 0x80 where the byte is 0
      // Gathers the eight bits in the top byte, byte 0 lowest.
      mask |= (((high_bits >> 7) * 0x0102040810204080u) >> 56) << (8 * part);
    }
    masks[word] = mask;
  }
}

const char* find_portable(const char* bytes, std::size_t size, const char* text, std::size_t length) noexcept {
  return static_cast<const char*>(::memmem(bytes, size, text, length));
}

// ---------------------------------------------------------------- AVX2

#if defined(__x86_64__)
[[gnu::target("avx2")]] std::size_t count_avx2(const char* bytes, std::size_t size, char byte) noexcept {
  return count_by<32>(bytes, size, byte);
}

[[gnu::target("avx2")]] void masks_avx2(const char* bytes, std::size_t word_count, char byte,
                                        std::uint64_t* masks) noexcept {
  const __m256i pattern = _mm256_set1_epi8(byte);
  for (std::size_t word = 0; word < word_count; ++word, bytes += 64) {
    const auto* const vectors = reinterpret_cast<const __m256i*>(bytes);
    const auto low =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(vectors), pattern)));
    const auto high =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(vectors + 1), pattern)));
    masks[word] = low | std::uint64_t{high} << 32;
  }
}

// Compares the first and the last byte of the text at 32 positions at once, and the rest only where both match (W.
// Mula, "SIMD-friendly algorithms for substring searching"). When that happens too often, memmem continues; it is
// linear.
[[gnu::target("avx2")]] const char* find_avx2(const char* bytes, std::size_t size, const char* text,
                                              std::size_t length) noexcept {
  const __m256i first = _mm256_set1_epi8(text[0]);
  const __m256i last = _mm256_set1_epi8(text[length - 1]);
  std::size_t offset = 0, compared_in_vain = 0;
  for (; offset + 32 + length - 1 <= size; offset += 32) {
    const __m256i starts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + offset));
    const __m256i stops = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + offset + length - 1));
    auto matches = static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_and_si256(_mm256_cmpeq_epi8(starts, first), _mm256_cmpeq_epi8(stops, last))));
    for (; matches != 0; matches &= matches - 1) {
      const char* const position = bytes + offset + __builtin_ctz(matches);
      if (std::memcmp(position + 1, text + 1, length - 2) == 0) return position;
      compared_in_vain += length;
    }
    // More than four compared bytes for each searched byte cost more than memmem; a short text is allowed some more.
    if (compared_in_vain > 4 * offset + 4096) break;
  }
  return offset + length > size ? nullptr : find_portable(bytes + offset, size - offset, text, length);
}
#endif

constexpr kernels candidates[] = {
    {"portable", count_portable, masks_portable, find_portable},
#if defined(__x86_64__)
    {"avx2", count_avx2, masks_avx2, find_avx2},
#endif
};

}  // namespace

std::span<const kernels> usable_kernels() noexcept {
  std::size_t usable = 1;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) usable = 2;
#endif
  return std::span(candidates).first(usable);
}

}  // namespace tarn::io
