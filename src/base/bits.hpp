// Arithmetic on sizes, addresses and bits, and the units of sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::base {

inline namespace units {
consteval std::size_t operator""_KiB(unsigned long long count) { return count << 10; }
consteval std::size_t operator""_MiB(unsigned long long count) { return count << 20; }
consteval std::size_t operator""_GiB(unsigned long long count) { return count << 30; }
}  // namespace units

// std::has_single_bit is not used, because it is a function call on processors without popcnt.
constexpr bool is_power_of_two(std::size_t number) noexcept { return number != 0 && (number & (number - 1)) == 0; }

/// Returns `number` rounded up to a multiple of `alignment`, a power of two. The sum must not overflow.
constexpr std::size_t align_up(std::size_t number, std::size_t alignment) noexcept {
  return (number + alignment - 1) & ~(alignment - 1);
}
constexpr std::size_t align_down(std::size_t number, std::size_t alignment) noexcept {
  return number & ~(alignment - 1);
}
inline char* align_down(char* address, std::size_t alignment) noexcept {
  return address - reinterpret_cast<std::uintptr_t>(address) % alignment;
}
inline char* align_up(char* address, std::size_t alignment) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return address + (align_up(number, alignment) - number);
}
inline bool is_aligned(const void* address, std::size_t alignment) noexcept {
  return (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) == 0;
}
constexpr std::size_t divide_up(std::size_t number, std::size_t divisor) noexcept {
  return (number + divisor - 1) / divisor;
}

}  // namespace tarn::base
