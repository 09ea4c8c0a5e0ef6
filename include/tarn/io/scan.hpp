// Counts and finds bytes at memory speed: in memory, in a mapped file, or in what a reader reads.
#pragma once

#include <tarn/io/mapped_file.hpp>
#include <tarn/io/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tarn::io {

/// Counts a byte. The instructions are chosen at run time (AVX2 where the processor has it).
std::size_t count(std::string_view bytes, char byte) noexcept;
/// Counts in a whole file. Throws what mapped_file::check() throws.
std::uint64_t count(const mapped_file& file, char byte);
/// Counts from the reader's position to the end.
std::uint64_t count(reader& input, char byte);

/// Returns the position of the first `text` from `begin` on, or std::string_view::npos. An empty `text` is found
/// at once. The cost is at most a small multiple of bytes.size() steps, whatever the texts are.
std::size_t find(std::string_view bytes, std::string_view text, std::size_t begin = 0) noexcept;
std::optional<std::uint64_t> find(const mapped_file& file, std::string_view text, std::uint64_t begin = 0);
/// Returns the offset in the stream, also of a text that lies across two buffers. The reader then stands behind the
/// text, or at the end when there is none.
std::optional<std::uint64_t> find(reader& input, std::string_view text);

}  // namespace tarn::io
