// What two recordings of one program have of locks and system calls, function by function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::analyse {

// All locks of one type that one function takes, or all its system calls of one name.
struct use {
  std::string what;               // "mutex", "write"
  std::string function, file;     // without arguments; the first that is not the C library's. The module without a file
  std::uint64_t count = 0;        // acquisitions, calls
  std::uint64_t nanoseconds = 0;  // waited; in the kernel
};

struct use_change {
  std::optional<use> before, after;  // one at least
  double saved_ns() const;           // below 0 where it costs more
};

struct use_difference {
  use before, after;                // of the whole program; `what` and the places are empty
  std::vector<use_change> changes;  // the largest by time first, then by count; without those where nothing changed
};

// In any order.
std::vector<use> calls_in(const format::recording& of, symbols& by);
// Conditions are there to be waited for, and are left out.
std::vector<use> locks_in(const format::recording& of, symbols& by);

// Uses are the same where all three texts are.
use_difference compare(const std::vector<use>& before, const std::vector<use>& after);

}  // namespace tarn::analyse
