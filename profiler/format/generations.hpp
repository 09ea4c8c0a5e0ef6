// Tells modules apart that were loaded at the same addresses, one after the other. Recorded addresses in the first one
// are those in the process. In each later one its generation, from 1 on, is in the bits that no address of a program
// has.
//
// This code runs inside the recorded program: it allocates nothing, throws nothing and calls no library.
#pragma once

#include <cstdint>

#include "profiler/format/python_layout.hpp"

namespace tarn::format {

constexpr unsigned generation_shift = 48;
// Stands for code that no module is known for, at the addresses of one that is gone.
constexpr std::uint64_t nameless_generation = 0x4000;
static_assert(nameless_generation < first_python_address >> generation_shift);

constexpr std::uint64_t in_generation(std::uint64_t address, std::uint64_t generation) noexcept {
  return address + (generation << generation_shift);
}
// Returns the address in the process; not for an address of Python.
constexpr std::uint64_t without_generation(std::uint64_t address) noexcept {
  return address & ((std::uint64_t{1} << generation_shift) - 1);
}

}  // namespace tarn::format
