// Names the Python functions on recorded stacks, from the recording alone.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

// The module name of a place in a Python function.
inline constexpr std::string_view python_module = "[Python]";

class python_codes {
 public:
  // Refers to the facts from now on.
  explicit python_codes(const std::vector<format::python_code_facts>& facts);

  std::size_t size() const { return codes_.size(); }
  // Returns the code object of a place; null if there is none. `address` is that of the instruction.
  const format::python_code_facts* find(std::uint32_t image, std::uint64_t address) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, const format::python_code_facts*> codes_;  // by image and start
};

// Returns the line of the instruction at an offset of bytes; that of the function where the table has none, and 0 where
// there is no table, as it was too long.
int line_at(const format::python_code_facts& code, std::uint64_t offset);

}  // namespace tarn::analyse
