#include <tarn/io/scan.hpp>

#include <algorithm>
#include <cstring>

#include "io/kernels.hpp"
#include "io/windows.hpp"

namespace tarn::io {

std::size_t count(std::string_view bytes, char letter) noexcept {
  return best_kernels().count(bytes.data(), bytes.size(), letter);
}

std::uint64_t count(const mapped_file& file, char letter) {
  std::uint64_t total = 0;
  for (std::size_t offset = 0; offset < file.size(); offset += window_bytes) {
    file.prepare(offset, window_bytes);
    total += count(file.view().substr(offset, window_bytes), letter);
  }
  file.check();
  return total;
}

std::uint64_t count(reader& input, char letter) {
  std::uint64_t total = 0;
  for (std::string_view block = input.block(); !block.empty(); block = input.block()) total += count(block, letter);
  return total;
}

std::size_t find(std::string_view bytes, std::string_view pattern, std::size_t begin) noexcept {
  if (begin > bytes.size() || pattern.size() > bytes.size() - begin) return std::string_view::npos;
  if (pattern.empty()) return begin;
  const char* const start = bytes.data() + begin;
  const std::size_t size = bytes.size() - begin;
  const void* const match = pattern.size() == 1 ? std::memchr(start, pattern[0], size)
                                                : best_kernels().find(start, size, pattern.data(), pattern.size());
  return match == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(match) - bytes.data());
}

std::optional<std::uint64_t> find(const mapped_file& file, std::string_view pattern, std::uint64_t begin) {
  std::size_t match = std::string_view::npos;
  for (std::size_t position = begin; position <= file.size() && match == std::string_view::npos;
       position += window_bytes) {
    file.prepare(position, window_bytes);
    // Add the bytes of the next window that a text may need which begins in this one.
    const std::string_view bytes =
        file.view().substr(position, window_bytes + (pattern.empty() ? 0 : pattern.size() - 1));
    match = find(bytes, pattern);
    if (match != std::string_view::npos) match += position;
  }
  file.check();
  if (match == std::string_view::npos) return std::nullopt;
  return match;
}

std::optional<std::uint64_t> find(reader& input, std::string_view pattern) {
  if (pattern.empty()) return input.offset();
  for (;;) {
    const std::string_view bytes = input.buffered_text();
    const std::size_t match = find(bytes, pattern);
    if (match != std::string_view::npos) {
      const std::uint64_t offset = input.offset() + match;
      input.skip(match + pattern.size());
      return offset;
    }
    // The end of this block may be the beginning of the text.
    const std::size_t overlap = std::min(bytes.size(), pattern.size() - 1);
    input.skip(bytes.size() - overlap);
    if (input.peek(overlap + 1).size() == overlap) {
      input.skip(overlap);
      return std::nullopt;
    }
  }
}

}  // namespace tarn::io
