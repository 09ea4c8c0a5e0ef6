// Records the code objects of CPython that are on recorded stacks.
#pragma once

#include <cstdint>

#include "profiler/format/python_layout.hpp"
#include "profiler/preload/base/checked_memory.hpp"

namespace tarn::preload {

// The types of a running CPython, by which its objects are told from other memory.
struct python_types {
  const format::python_layout* layout;
  std::uintptr_t code, string, bytes;
};

// Where a code object's instructions are, and the address by which recorded stacks name the first one.
struct python_code {
  std::uintptr_t instructions = 0;
  std::uint64_t bytes = 0, start = 0;
  bool operator==(const python_code&) const = default;
};

// Returns false when there is no code object at the address, or no room for its record. A code object that has taken
// the address of a freed one has another start. It locks only to record a new one.
bool find_python_code(const python_types& types, std::uintptr_t address, checked_memory& memory,
                      python_code& result) noexcept;

// Remembers code objects that one thread has met; all zeroes is an empty memory. What it has met is read again without
// a question to the kernel, so it may be asked only for code objects that a frame of the thread refers to.
class met_python_codes {
 public:
  bool find(const python_types& types, std::uintptr_t address, checked_memory& memory, python_code& result) noexcept;

 private:
  struct entry {
    std::uintptr_t address, function, file, lines;
    std::uint64_t units, function_length, function_end;  // the last eight bytes of the function's name
    std::uint32_t line;
    python_code code;
    bool operator==(const entry&) const = default;
  };
  static entry described(const python_types& types, std::uintptr_t address) noexcept;

  static constexpr std::size_t count = 256;
  entry entries_[count];
};

// Starts afresh in a child of fork.
void begin_python_codes_anew() noexcept;

}  // namespace tarn::preload
