#include <tarn/io/scan.hpp>

#include <algorithm>
#include <cstring>

#include "io/kernels.hpp"
#include "io/windows.hpp"

namespace tarn::io {

std::size_t count(std::string_view bytes, char wanted) noexcept {
  return best_kernels().count(bytes.data(), bytes.size(), wanted);
}

std::uint64_t count(const mapped_file& in, char wanted) {
  std::uint64_t total = 0;
  for (std::size_t offset = 0; offset < in.size(); offset += window_bytes) {
    in.prepare(offset, window_bytes);
    total += count(in.view().substr(offset, window_bytes), wanted);
  }
  in.check();
  return total;
}

std::uint64_t count(reader& in, char wanted) {
  std::uint64_t total = 0;
  for (std::string_view block = in.block(); !block.empty(); block = in.block()) total += count(block, wanted);
  return total;
}

std::size_t find(std::string_view bytes, std::string_view wanted, std::size_t from) noexcept {
  if (from > bytes.size() || wanted.size() > bytes.size() - from) return std::string_view::npos;
  if (wanted.empty()) return from;
  const char* const start = bytes.data() + from;
  const std::size_t size = bytes.size() - from;
  const void* const match = wanted.size() == 1 ? std::memchr(start, wanted[0], size)
                                               : best_kernels().find(start, size, wanted.data(), wanted.size());
  return match == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(match) - bytes.data());
}

std::optional<std::uint64_t> find(const mapped_file& in, std::string_view wanted, std::uint64_t from) {
  std::size_t match = std::string_view::npos;
  for (std::size_t at = from; at <= in.size() && match == std::string_view::npos; at += window_bytes) {
    in.prepare(at, window_bytes);
    // Keep as much more as a text can begin here and end there.
    const std::string_view bytes = in.view().substr(at, window_bytes + (wanted.empty() ? 0 : wanted.size() - 1));
    match = find(bytes, wanted);
    if (match != std::string_view::npos) match += at;
  }
  in.check();
  if (match == std::string_view::npos) return std::nullopt;
  return match;
}

std::optional<std::uint64_t> find(reader& in, std::string_view wanted) {
  if (wanted.empty()) return in.offset();
  for (;;) {
    const std::string_view bytes = in.buffered();
    const std::size_t match = find(bytes, wanted);
    if (match != std::string_view::npos) {
      const std::uint64_t offset = in.offset() + match;
      in.skip(match + wanted.size());
      return offset;
    }
    // The end of this block may be the beginning of the text.
    const std::size_t kept = std::min(bytes.size(), wanted.size() - 1);
    in.skip(bytes.size() - kept);
    if (in.peek(kept + 1).size() == kept) {
      in.skip(kept);
      return std::nullopt;
    }
  }
}

}  // namespace tarn::io
