#include "profiler/top/numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "profiler/export/utf8.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {

using analyse::live_column;
using analyse::live_unit;

std::string printable(const std::string& text) {
  std::string result = exports::well_formed(text);
  for (char& letter : result) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) letter = ' ';
  }
  return result;
}

std::string short_number(double value) {
  constexpr std::array units = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  const bool is_small = value < 10'000;
  for (; !is_small && value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
  if (unit == 0)
    return value >= 100 || value == 0 ? group_digits(static_cast<std::uint64_t>(std::llround(value)))
                                      : fmt::format("{:.1f}", value);
  return fmt::format("{:.{}f}{}", value, value < 100 ? 1 : 0, units[unit]);
}

std::string short_bytes(double value) {
  constexpr std::array units = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f}{}", value, unit != 0 && value < 100 ? 1 : 0, units[unit]);
}

std::string number_text(double value, const live_column& column) {
  if (std::isnan(value)) return "-";
  if (column.unit == live_unit::count && !column.is_rate && value < 10'000)
    return group_digits(static_cast<std::uint64_t>(value));
  return column.unit == live_unit::bytes ? short_bytes(value) : short_number(value);
}

}  // namespace tarn::command
