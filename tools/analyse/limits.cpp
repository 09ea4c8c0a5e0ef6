#include "analyse/limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "analyse/names.hpp"

namespace tarn::analyse {
namespace {

using metric = limit::metric;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(" \t");
    if (start == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t", start), text.size());
    words.push_back(text.substr(start, end - start));
    text.remove_prefix(end);
  }
  return words;
}

// Removes the words of `phrase` from the front of `from`; returns false if they are not there.
bool take(std::vector<std::string_view>& from, std::string_view phrase) {
  const std::vector<std::string_view> wanted = words_of(phrase);
  if (from.size() < wanted.size() || !std::equal(wanted.begin(), wanted.end(), from.begin())) return false;
  from.erase(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(wanted.size()));
  return true;
}

double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  constexpr std::array units = {std::pair{"", 1.0},  std::pair{"k", 1e3}, std::pair{"K", 1e3},
                                std::pair{"M", 1e6}, std::pair{"G", 1e9}, std::pair{"%", 0.01}};
  const auto* const factor =
      std::find_if(units.begin(), units.end(), [&](const auto& each) { return unit == each.first; });
  if (error != std::errc() || factor == units.end() || !std::isfinite(value) || value < 0) {
    throw wrong_limit("\"" + std::string(text) + "\" is no number such as 3, 1000, 2.5M or 5 %");
  }
  return value * factor->second;
}

double value_of(metric what, const place_sums& of) {
  switch (what) {
    case metric::allocations: return static_cast<double>(of.allocations);
    case metric::bytes: return static_cast<double>(of.bytes);
    case metric::copied: return static_cast<double>(of.copied);
    case metric::handed_over: return static_cast<double>(of.handed_over);
    case metric::sites: return 1;
    case metric::share:
    case metric::lock_waits:
    case metric::system_calls:
    case metric::noises: break;
  }
  return 0;
}

bool is_of_program(metric what) { return is_share(what) || what == metric::system_calls || what == metric::noises; }

bool is_meant(const limit& by, const place_sums& of) {
  if (by.of && of.is != *by.of) return false;
  if (!by.function.empty() && !is_called(of.function, by.function)) return false;
  return by.file.empty() || ends_in(of.file, by.file, "/");
}

}  // namespace

limit limit_of(std::string_view words, double most) {
  limit made;
  made.words = words;
  made.most = most;
  std::vector<std::string_view> left = words_of(words);
  for (const auto each : {category::transient, category::shared, category::start_up, category::kept}) {
    if (!made.of && take(left, name(each))) made.of = each;
  }
  constexpr std::array metrics = {std::pair{"allocations", metric::allocations},
                                  std::pair{"bytes", metric::bytes},
                                  std::pair{"copied bytes", metric::copied},
                                  std::pair{"hand-overs", metric::handed_over},
                                  std::pair{"sites", metric::sites},
                                  std::pair{"heap share", metric::share},
                                  std::pair{"lock waits", metric::lock_waits},
                                  std::pair{"system calls", metric::system_calls},
                                  std::pair{"noises", metric::noises}};
  const auto* const found =
      std::find_if(metrics.begin(), metrics.end(), [&](const auto& each) { return take(left, each.first); });
  if (found == metrics.end()) {
    throw wrong_limit("\"" + std::string(words) +
                      "\" begins with none of: allocations, bytes, copied bytes, hand-overs, sites (a category may "
                      "stand before these), heap share, lock waits, system calls, noises");
  }
  made.what = found->second;
  for (auto [where, to] : {std::pair{"at function", &made.function}, std::pair{"at file", &made.file}}) {
    if (!take(left, where)) continue;
    if (left.empty()) throw wrong_limit("\"" + std::string(words) + "\": " + where + " what?");
    *to = left.front();
    left.erase(left.begin());
  }
  made.per_request = take(left, "per request");
  if (!left.empty())
    throw wrong_limit("\"" + std::string(words) + "\": what is \"" + std::string(left.front()) + "\"?");
  const bool is_of_a_part = made.of || !made.function.empty() || !made.file.empty();
  if (is_of_program(made.what) && (is_of_a_part || (is_share(made.what) && made.per_request))) {
    throw wrong_limit("\"" + std::string(found->first) + "\" is of the whole program");
  }
  return made;
}

limit limit_of(std::string_view expression) {
  const std::size_t sign = expression.find("<=");
  if (sign == std::string_view::npos) {
    throw wrong_limit("\"" + std::string(expression) + "\" has no <=, as in 'transient allocations <= 1000'");
  }
  std::string_view words = expression.substr(0, sign), number = expression.substr(sign + 2);
  while (number.starts_with(' ')) number.remove_prefix(1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  while (words.ends_with(' ')) words.remove_suffix(1);
  std::string all(words);
  constexpr std::string_view unit = " per request";
  if (number.ends_with(unit)) {
    number.remove_suffix(unit.size());
    all += unit;
  }
  return limit_of(all, number_of(number));
}

bool is_at(const limit& by, std::string_view function) { return is_called(function, by.function); }

bool is_share(metric of) { return of == metric::share || of == metric::lock_waits; }

std::vector<breach> breaches_of(const std::vector<limit>& limits, const std::vector<place_sums>& places,
                                const totals& whole, double requests) {
  std::vector<breach> found;
  for (const limit& each : limits) {
    breach one{each, 0, nullptr};
    for (const place_sums& at : places) {
      if (is_of_program(each.what) || !is_meant(each, at)) continue;
      one.value += value_of(each.what, at);
      if (one.largest == nullptr || value_of(each.what, at) > value_of(each.what, *one.largest)) one.largest = &at;
    }
    if (each.what == metric::share) one.value = whole.heap_share;
    if (each.what == metric::lock_waits) one.value = whole.lock_waits;
    if (each.what == metric::system_calls) one.value = whole.system_calls;
    if (each.what == metric::noises) one.value = whole.noises;
    if (each.per_request) {
      if (requests <= 0) throw wrong_limit("\"" + each.words + "\" needs to know how many requests there were");
      one.value /= requests;
    }
    if (one.value > each.most) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace tarn::analyse
