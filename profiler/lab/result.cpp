#include "profiler/lab/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tarn::lab {
namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto lower = static_cast<std::size_t>(position);
  const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
  return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - static_cast<double>(lower));
}

}  // namespace

spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

const row* result::find(std::size_t sweep, const std::string& form, std::uint64_t x) const {
  const auto match = std::find_if(rows.begin(), rows.end(),
                                  [&](const row& row) { return row.sweep == sweep && row.x == x && row.form == form; });
  return match == rows.end() ? nullptr : &*match;
}

bool result::has(const std::string& name) const {
  return std::any_of(forms.begin(), forms.end(), [&](const form& form) { return form.name == name; });
}

std::optional<double> result::ns(std::size_t sweep, const std::string& form, std::uint64_t x) const {
  if (form != best_other) {
    const row* const match = find(sweep, form, x);
    return match == nullptr || match->ns.empty() ? std::nullopt : std::optional(spread_of(match->ns).median);
  }
  std::optional<double> best;
  for (const lab::form& entry : forms) {
    if (entry.origin == role::ours) continue;
    const std::optional<double> median = ns(sweep, entry.name, x);
    if (median && (!best || *median < *best)) best = median;
  }
  return best;
}

std::optional<double> result::count(std::size_t sweep, const std::string& form, std::uint64_t x,
                                    const std::string& name) const {
  const row* const match = find(sweep, form, x);
  if (match == nullptr || !match->counts.contains(name)) return std::nullopt;
  return spread_of(match->counts.at(name)).median;
}

std::optional<double> result::ratio(std::size_t sweep, const std::string& dividend, const std::string& divisor,
                                    std::uint64_t x) const {
  const row* const dividend_row = find(sweep, dividend, x);
  const row* const divisor_row = find(sweep, divisor, x);
  if (dividend_row == nullptr || divisor_row == nullptr) {  // one of them is the best of several
    const std::optional<double> dividend_ns = ns(sweep, dividend, x), divisor_ns = ns(sweep, divisor, x);
    return dividend_ns && divisor_ns && *divisor_ns > 0 ? std::optional(*dividend_ns / *divisor_ns) : std::nullopt;
  }
  std::vector<double> quotients;
  for (std::size_t round = 0; round < std::min(dividend_row->ns.size(), divisor_row->ns.size()); ++round) {
    if (divisor_row->ns[round] > 0) quotients.push_back(dividend_row->ns[round] / divisor_row->ns[round]);
  }
  return quotients.empty() ? std::nullopt : std::optional(spread_of(quotients).median);
}

std::vector<double> result::ratios(std::size_t sweep, const std::string& dividend, const std::string& divisor) const {
  std::vector<double> values;
  for (const std::uint64_t x : axes.at(sweep)) {
    if (const std::optional<double> value = ratio(sweep, dividend, divisor, x)) values.push_back(*value);
  }
  return values;
}

std::optional<double> result::exponent(std::size_t sweep, const std::string& form) const {
  std::vector<std::pair<double, double>> points;
  for (const std::uint64_t x : axes.at(sweep)) {
    const std::optional<double> y = ns(sweep, form, x);
    if (x > 0 && y && *y > 0) points.emplace_back(std::log(static_cast<double>(x)), std::log(*y));
  }
  if (points.size() < 3) return std::nullopt;
  double x_mean = 0, y_mean = 0, covariance = 0, variance = 0;
  for (const auto& [x, y] : points) {
    x_mean += x / static_cast<double>(points.size());
    y_mean += y / static_cast<double>(points.size());
  }
  for (const auto& [x, y] : points) {
    covariance += (x - x_mean) * (y - y_mean);
    variance += (x - x_mean) * (x - x_mean);
  }
  return covariance / variance;
}

std::string result::slowdown_text(std::size_t sweep, const std::string& form) const {
  std::vector<std::string> positions, slowdowns;
  for (const std::uint64_t x : axes.at(sweep)) {
    const std::optional<double> slowdown = ratio(sweep, form, best_other, x);
    if (!slowdown || *slowdown <= 1.1) continue;
    positions.push_back(std::to_string(x));
    slowdowns.push_back(two_digits(*slowdown));
  }
  if (positions.empty()) return {};
  return fmt::format(" {} is slower than the fastest other at {} {}: {} times its time.", form,
                     definition->sweeps[sweep].axis.name, fmt::join(positions, ", "), fmt::join(slowdowns, ", "));
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (value <= 0) continue;
    sum += std::log(value);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

std::string two_digits(double number) {
  const double size = std::fabs(number);
  if (size >= 1e6) return fmt::format("{:.2g}", number);
  if (size >= 9.95) return fmt::format("{:.0f}", number);
  return fmt::format("{:.{}f}", number, size >= 0.995 || size == 0 ? 1 : size >= 0.0995 ? 2 : 3);
}

std::string times_text(const std::vector<double>& ratios) {
  if (ratios.empty()) return "not measured";
  const auto [lowest, highest] = std::minmax_element(ratios.begin(), ratios.end());
  const std::string low = two_digits(*lowest), high = two_digits(*highest);
  return low == high ? low + " times" : low + " to " + high + " times";
}

}  // namespace tarn::lab
