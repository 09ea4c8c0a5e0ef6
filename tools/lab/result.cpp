#include "lab/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tarn::lab {
namespace {

double quantile(const std::vector<double>& sorted, double at) {
  const double place = at * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

const row* result::find(std::size_t sweep, const std::string& form, std::uint64_t x) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const row& each) {
    return each.sweep == sweep && each.x == x && each.form == form;
  });
  return found == rows.end() ? nullptr : &*found;
}

bool result::has(const std::string& name) const {
  return std::any_of(forms.begin(), forms.end(), [&](const form& each) { return each.name == name; });
}

std::optional<double> result::ns(std::size_t sweep, const std::string& form, std::uint64_t x) const {
  if (form != best_other) {
    const row* const found = find(sweep, form, x);
    return found == nullptr || found->ns.empty() ? std::nullopt : std::optional(spread_of(found->ns).median);
  }
  std::optional<double> best;
  for (const lab::form& each : forms) {
    if (each.is == role::ours) continue;
    const std::optional<double> own = ns(sweep, each.name, x);
    if (own && (!best || *own < *best)) best = own;
  }
  return best;
}

std::optional<double> result::count(std::size_t sweep, const std::string& form, std::uint64_t x,
                                    const std::string& name) const {
  const row* const found = find(sweep, form, x);
  if (found == nullptr || !found->counts.contains(name)) return std::nullopt;
  return spread_of(found->counts.at(name)).median;
}

std::optional<double> result::ratio(std::size_t sweep, const std::string& over, const std::string& under,
                                    std::uint64_t x) const {
  const row* const above = find(sweep, over, x);
  const row* const below = find(sweep, under, x);
  if (above == nullptr || below == nullptr) {  // one of them is the best of several
    const std::optional<double> dividend = ns(sweep, over, x), divisor = ns(sweep, under, x);
    return dividend && divisor && *divisor > 0 ? std::optional(*dividend / *divisor) : std::nullopt;
  }
  std::vector<double> each;
  for (std::size_t round = 0; round < std::min(above->ns.size(), below->ns.size()); ++round) {
    if (below->ns[round] > 0) each.push_back(above->ns[round] / below->ns[round]);
  }
  return each.empty() ? std::nullopt : std::optional(spread_of(each).median);
}

std::vector<double> result::ratios(std::size_t sweep, const std::string& over, const std::string& under) const {
  std::vector<double> all;
  for (const std::uint64_t x : axes.at(sweep)) {
    if (const std::optional<double> each = ratio(sweep, over, under, x)) all.push_back(*each);
  }
  return all;
}

std::optional<double> result::exponent(std::size_t sweep, const std::string& form) const {
  std::vector<std::pair<double, double>> points;
  for (const std::uint64_t x : axes.at(sweep)) {
    const std::optional<double> y = ns(sweep, form, x);
    if (x > 0 && y && *y > 0) points.emplace_back(std::log(static_cast<double>(x)), std::log(*y));
  }
  if (points.size() < 3) return std::nullopt;
  double x_mean = 0, y_mean = 0, together = 0, alone = 0;
  for (const auto& [x, y] : points) {
    x_mean += x / static_cast<double>(points.size());
    y_mean += y / static_cast<double>(points.size());
  }
  for (const auto& [x, y] : points) {
    together += (x - x_mean) * (y - y_mean);
    alone += (x - x_mean) * (x - x_mean);
  }
  return together / alone;
}

std::string result::where_slower(std::size_t sweep, const std::string& form) const {
  std::vector<std::string> places, amounts;
  for (const std::uint64_t x : axes.at(sweep)) {
    const std::optional<double> each = ratio(sweep, form, best_other, x);
    if (!each || *each <= 1.1) continue;
    places.push_back(std::to_string(x));
    amounts.push_back(two_digits(*each));
  }
  if (places.empty()) return {};
  return fmt::format(" {} is slower than the fastest other at {} {}: {} times its time.", form,
                     of->sweeps[sweep].axis.name, fmt::join(places, ", "), fmt::join(amounts, ", "));
}

double geometric_mean(const std::vector<double>& of) {
  double sum = 0, count = 0;
  for (const double each : of) {
    if (each <= 0) continue;
    sum += std::log(each);
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

std::string times_words(const std::vector<double>& ratios) {
  if (ratios.empty()) return "not measured";
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const std::string low = two_digits(*least), high = two_digits(*most);
  return low == high ? low + " times" : low + " to " + high + " times";
}

}  // namespace tarn::lab
