// Fills memory with bytes that a program does not write by accident, and checks whether they have changed.
//
// The bytes follow from the address and from a number that differs from process to process. No byte is zero or ASCII,
// so the end of a string, written one byte too far, always shows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::heaps::canary {

/// Draws the process's key at the first call; later calls keep it. Must be called before any other function here.
void draw() noexcept;

/// Returns a word that follows from the address, the number and the process's key.
std::uint64_t word_for(const void* address, std::uint64_t number) noexcept;
/// Returns a checksum that depends on its location, too.
std::uint64_t sum(const void* address, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept;

/// fill() writes the canary into [begin, end). first_changed() returns its first byte that has changed, or `end`;
/// last_changed() returns the end of the last such byte, or `begin`.
void fill(char* begin, char* end) noexcept;
char* first_changed(char* begin, char* end) noexcept;
char* last_changed(char* begin, char* end) noexcept;

/// Returns the first byte in [begin, end) that is not `byte`, or `end`.
char* first_other(char* begin, char* end, unsigned char byte) noexcept;

}  // namespace tarn::heaps::canary
