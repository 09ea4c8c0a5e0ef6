// Formats counts and durations for people, exact ones and estimates.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tarn::command {

// Formats 1,234,567.
inline std::string group_digits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t position = digits.size(); position > 3; position -= 3) digits.insert(position - 3, 1, ',');
  return digits;
}

// Rounds an estimate to the digits that its relative error allows: four below 1 %, three below 5 %, two below 30 %. An
// exact count keeps all.
inline std::uint64_t round_to_error(std::uint64_t count, double error) {
  if (error == 0) return count;
  const std::uint64_t limit = error < 0.001  ? 100'000
                              : error < 0.01 ? 10'000
                              : error < 0.05 ? 1000
                              : error < 0.3  ? 100
                                             : 10;
  std::uint64_t unit = 1;
  while (count / unit >= limit) unit *= 10;
  return (count + unit / 2) / unit * unit;
}

// Formats an estimate in two digits: "1.2 million", "36,000".
inline std::string rough_count(std::uint64_t count) {
  constexpr double error = 0.1;
  const std::uint64_t figure = round_to_error(count, error);
  if (figure < 1'000'000) return group_digits(figure);
  const bool is_fraction = figure < 10'000'000 && figure % 1'000'000 != 0;
  const std::uint64_t tenths = figure / 100'000;
  return group_digits(tenths / 10) + (is_fraction ? "." + std::to_string(tenths % 10) : "") + " million";
}

// Formats "12.6 s", "80 ms", "3.7 µs".
inline std::string duration_text(double ns) {
  constexpr std::array units = {"ns", "µs", "ms", "s"};
  std::size_t unit = 0;
  for (; ns >= 999.5 && unit + 1 < units.size(); ++unit) ns /= 1000;
  // More digits say nothing.
  const double min_whole = unit == 0 ? 0 : unit + 1 == units.size() ? 99.95 : 9.95;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", ns != 0 && ns < min_whole ? 1 : 0, ns, units[unit]);
  return text.data();
}
inline std::string duration_text(std::uint64_t ns) { return duration_text(static_cast<double>(ns)); }

inline std::string in_decimals(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// Formats a figure that is known alone: 12, 3.4, 0.56.
inline std::string tidy(double value) {
  const double size = std::fabs(value);
  return in_decimals(value, size >= 10 || size == 0 ? 0 : size >= 1 ? 1 : 2);
}

struct range_figures {
  std::string low, middle, high;
};
// Formats the ends of a range and its middle with as many decimals, at most 2, as a third of its width needs, because
// finer digits would be unfounded: 2, 4 and 7. An end that is far smaller keeps one digit that is not 0.
// Ends that are the same in two digits are one figure.
inline range_figures figures_of(double low, double high) {
  if (tidy(low) == tidy(high)) return {tidy(low), tidy(low), tidy(low)};
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10((high - low) / 3))), 0, 2);
  const auto figure = [&](double value) {
    int needed = decimals;
    while (needed < 2 && std::fabs(value) * std::pow(10, needed) < 0.5) ++needed;
    return std::fabs(value) < 0.005 ? "0" : in_decimals(value, needed);
  };
  return {figure(low), figure((low + high) / 2), figure(high)};
}

}  // namespace tarn::command
