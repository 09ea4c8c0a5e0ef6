// Bytes that nobody writes by accident, and looking whether somebody did.
//
// They follow from the address and from a number that differs from process to process.
// No byte is zero or ASCII: the end of a string, one byte too far, always shows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::guard::canary {

/// Draws the process's key from what the kernel gave it; the same at each call. Before
/// any other function here.
void draw() noexcept;

/// A word for an address and a number, unlike any other.
std::uint64_t word_for(const void* address, std::uint64_t number) noexcept;
/// A checksum that depends on where it stands.
std::uint64_t sum(const void* at, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept;

/// The canary in [from, to); the first byte of it that has changed, or `to`; the end of
/// the last one, or `from`.
void fill(char* from, char* to) noexcept;
char* first_changed(char* from, char* to) noexcept;
char* last_changed(char* from, char* to) noexcept;

/// The first byte in [from, to) that is not `byte`, or `to`.
char* first_other(char* from, char* to, unsigned char byte) noexcept;

}  // namespace tarn::guard::canary
