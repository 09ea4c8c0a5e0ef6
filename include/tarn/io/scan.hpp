// Counting and finding bytes at the speed of memory: in memory, in a mapped file, in whatever a reader reads.
#pragma once

#include <tarn/io/mapped_file.hpp>
#include <tarn/io/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tarn::io {

/// How often a byte occurs. Instructions are chosen when the program runs (AVX2 where the processor has it).
std::size_t count(std::string_view bytes, char wanted) noexcept;
/// In a whole file. Throws what mapped_file::check() throws.
std::uint64_t count(const mapped_file& in, char wanted);
/// From here to the end.
std::uint64_t count(reader& in, char wanted);

/// Where the first `wanted` begins, from `from` on; std::string_view::npos when there is none. An empty text is found
/// at once. Never more than a small multiple of bytes.size() steps, whatever the texts are.
std::size_t find(std::string_view bytes, std::string_view wanted, std::size_t from = 0) noexcept;
std::optional<std::uint64_t> find(const mapped_file& in, std::string_view wanted, std::uint64_t from = 0);
/// The offset in the stream; the reader then stands behind what was found, or at the end. What lies across two
/// buffers is found too.
std::optional<std::uint64_t> find(reader& in, std::string_view wanted);

}  // namespace tarn::io
