#include "profiler/symbols/python_code.hpp"

#include <cstddef>
#include <iterator>
#include <limits>

namespace tarn::analyse {
namespace {

// Reads a number in groups of six bits, the lowest first, whose lowest bit is its sign. Returns 0 where it does not
// end.
int signed_number(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 36 && !bytes.empty(); shift += 6) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    if ((byte & 0x80) != 0) return 0;  // the next entry begins here
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x3fU} << shift;
    if ((byte & 0x40) != 0) continue;
    const std::uint64_t magnitude = value >> 1;
    if (magnitude > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return 0;
    return (value & 1) != 0 ? -static_cast<int>(magnitude) : static_cast<int>(magnitude);
  }
  return 0;
}

}  // namespace

python_codes::python_codes(const std::vector<format::python_code_facts>& facts) {
  for (const format::python_code_facts& code : facts) codes_[{code.image, code.start}] = &code;
}

const format::python_code_facts* python_codes::find(std::uint32_t image, std::uint64_t address) const {
  const auto after = codes_.upper_bound({image, address});
  if (after == codes_.begin()) return nullptr;
  const format::python_code_facts& code = *std::prev(after)->second;
  return code.image == image && address - code.start < code.bytes ? &code : nullptr;
}

// Each entry of the table begins with a byte that has the top bit, then a form in four bits and a number of
// instructions less one in three bits (Objects/locations.md of CPython 3.11). The bytes that follow have no top bit.
int line_at(const format::python_code_facts& code, std::uint64_t offset) {
  if (code.lines.empty()) return 0;
  constexpr unsigned without_line = 15, long_form = 14, without_column = 13, first_with_step = 10;
  std::int64_t line = code.line;
  std::uint64_t end = 0;
  std::string_view bytes = code.lines;
  while (!bytes.empty()) {
    const auto head = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if ((head & 0x80) == 0) continue;
    const unsigned form = head >> 3 & 15;
    if (form == long_form || form == without_column) line += signed_number(bytes);
    if (form >= first_with_step && form < without_column) line += form - first_with_step;
    end += 2 * ((head & 7U) + 1);
    if (offset >= end) continue;
    const bool is_known = form != without_line && line > 0 && line <= std::numeric_limits<int>::max();
    return is_known ? static_cast<int>(line) : static_cast<int>(code.line);
  }
  return static_cast<int>(code.line);
}

}  // namespace tarn::analyse
