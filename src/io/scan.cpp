#include <tarn/io/scan.hpp>

#include <algorithm>
#include <cstring>

#include "io/kernels.hpp"
#include "io/windows.hpp"

namespace tarn::io {

std::size_t count(std::string_view bytes, char wanted) noexcept {
  return best_kernels().count(bytes.data(), bytes.size(), wanted);
}

std::uint64_t count(const mapped_file& file, char wanted) {
  std::uint64_t total = 0;
  for (std::size_t offset = 0; offset < file.size(); offset += window_bytes) {
    file.prepare(offset, window_bytes);
    total += count(file.view().substr(offset, window_bytes), wanted);
  }
  file.check();
  return total;
}

std::uint64_t count(reader& input, char wanted) {
  std::uint64_t total = 0;
  for (std::string_view block = input.block(); !block.empty(); block = input.block()) total += count(block, wanted);
  return total;
}

std::size_t find(std::string_view bytes, std::string_view wanted, std::size_t begin) noexcept {
  if (begin > bytes.size() || wanted.size() > bytes.size() - begin) return std::string_view::npos;
  if (wanted.empty()) return begin;
  const char* const start = bytes.data() + begin;
  const std::size_t size = bytes.size() - begin;
  const void* const match = wanted.size() == 1 ? std::memchr(start, wanted[0], size)
                                               : best_kernels().find(start, size, wanted.data(), wanted.size());
  return match == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(match) - bytes.data());
}

std::optional<std::uint64_t> find(const mapped_file& file, std::string_view wanted, std::uint64_t begin) {
  std::size_t match = std::string_view::npos;
  for (std::size_t position = begin; position <= file.size() && match == std::string_view::npos;
       position += window_bytes) {
    file.prepare(position, window_bytes);
    // Keep as much more as a text can begin here and end there.
    const std::string_view bytes =
        file.view().substr(position, window_bytes + (wanted.empty() ? 0 : wanted.size() - 1));
    match = find(bytes, wanted);
    if (match != std::string_view::npos) match += position;
  }
  file.check();
  if (match == std::string_view::npos) return std::nullopt;
  return match;
}

std::optional<std::uint64_t> find(reader& input, std::string_view wanted) {
  if (wanted.empty()) return input.offset();
  for (;;) {
    const std::string_view bytes = input.buffered();
    const std::size_t match = find(bytes, wanted);
    if (match != std::string_view::npos) {
      const std::uint64_t offset = input.offset() + match;
      input.skip(match + wanted.size());
      return offset;
    }
    // The end of this block may be the beginning of the text.
    const std::size_t kept = std::min(bytes.size(), wanted.size() - 1);
    input.skip(bytes.size() - kept);
    if (input.peek(kept + 1).size() == kept) {
      input.skip(kept);
      return std::nullopt;
    }
  }
}

}  // namespace tarn::io
