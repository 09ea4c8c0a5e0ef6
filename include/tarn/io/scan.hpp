// Counts and finds bytes at memory speed: in memory, in a mapped file, or in what a reader reads. Any thread may call
// these functions; a reader is used by one thread at a time.
#pragma once

#include <tarn/io/mapped_file.hpp>
#include <tarn/io/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tarn::io {

/// Counts a byte. Cost: one pass, by AVX2 where the processor has it.
std::size_t count(std::string_view bytes, char byte) noexcept;
/// Counts a byte in a whole file. Throws what mapped_file::check() throws. Cost: one pass, and a system call for each
/// part that is prefetched.
std::uint64_t count(const mapped_file& file, char byte);
/// Counts a byte from the reader's position to the end. Throws io::error. Cost: that of reading.
std::uint64_t count(reader& input, char byte);

/// Returns the position of the first `text` from `begin` on, or std::string_view::npos. An empty `text` is found
/// at once. Cost: at most a small multiple of bytes.size() steps, whatever the texts are.
std::size_t find(std::string_view bytes, std::string_view text, std::size_t begin = 0) noexcept;
/// Returns the offset of the first `text` in the file from offset `begin` on, or nothing. Throws what
/// mapped_file::check() throws. Cost: that of find() in memory, and a system call for each part that is prefetched.
std::optional<std::uint64_t> find(const mapped_file& file, std::string_view text, std::uint64_t begin = 0);
/// Returns the offset of the next `text` in the stream, also of one that lies across two buffers, or nothing. The
/// reader then stands behind the text, or at the end when there is none. Throws io::error. Cost: that of reading, and
/// of find() in memory.
std::optional<std::uint64_t> find(reader& input, std::string_view text);

}  // namespace tarn::io
