// The inner loops of scan.hpp and lines.hpp, in the best form for this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tarn::io {

struct kernels {
  const char* name;
  std::size_t (*count)(const char* bytes, std::size_t size, char byte) noexcept;
  /// Makes one word for each of `word_count` times 64 bytes: bit i says that byte i is `byte`.
  void (*masks)(const char* bytes, std::size_t word_count, char byte, std::uint64_t* masks) noexcept;
  /// Returns null when there is none. Requires 2 <= length <= size.
  const char* (*find)(const char* bytes, std::size_t size, const char* text, std::size_t length) noexcept;
};

/// Returns the kernels that can run here, the best last.
std::span<const kernels> usable_kernels() noexcept;

inline const kernels& best_kernels() noexcept {
  static const kernels& best = usable_kernels().back();
  return best;
}

}  // namespace tarn::io
