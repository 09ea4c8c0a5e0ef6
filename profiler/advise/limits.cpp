#include "profiler/advise/limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "profiler/symbols/names.hpp"

namespace tarn::analyse {
namespace {

using metric_kind = limit::metric_kind;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(" \t");
    if (start == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t", start), text.size());
    parts.push_back(text.substr(start, end - start));
    text.remove_prefix(end);
  }
  return parts;
}

// Removes the words of `phrase` from the front of `parts`; returns false if they are not there.
bool take(std::vector<std::string_view>& parts, std::string_view phrase) {
  const std::vector<std::string_view> expected = words_of(phrase);
  if (parts.size() < expected.size() || !std::equal(expected.begin(), expected.end(), parts.begin())) return false;
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(expected.size()));
  return true;
}

using factors = std::vector<std::pair<std::string_view, double>>;

// Returns the units that a number of the metric may have.
factors units_of(metric_kind metric) {
  if (is_share(metric)) return {{"%", 0.01}};
  if (metric == metric_kind::cpu_time) return {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}};
  factors units = {{"", 1.0}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
  if (is_of_memory(metric) || metric == metric_kind::bytes || metric == metric_kind::copied)
    units.insert(units.end(), {{"KiB", 1024.0}, {"MiB", 0x1p20}, {"GiB", 0x1p30}});
  return units;
}

// 0 needs no unit.
[[noreturn]] void refuse_number(std::string_view number, std::string_view subject, metric_kind metric) {
  const char* const examples = is_share(metric)                  ? "5 %"
                               : metric == metric_kind::cpu_time ? "2 s, 20 ms or 300 us"
                               : units_of(metric).size() > 5     ? "1000, 2.5M or 64 MiB"
                                                                 : "3, 1000 or 2.5M";
  throw wrong_limit("\"" + std::string(number) + "\" is no number for \"" + std::string(subject) +
                    "\": it needs one such as " + examples);
}

double number_of(std::string_view text, std::string_view subject, metric_kind metric) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (error != std::errc() || !std::isfinite(value) || value < 0) refuse_number(text, subject, metric);
  if (value == 0 && unit.empty()) return 0;
  for (const auto& [name, factor] : units_of(metric)) {
    if (unit == name) return value * factor;
  }
  refuse_number(text, subject, metric);
}

double value_of(metric_kind metric, const location_sums& sums) {
  switch (metric) {
    case metric_kind::allocations: return static_cast<double>(sums.allocations);
    case metric_kind::bytes: return static_cast<double>(sums.bytes);
    case metric_kind::copied: return static_cast<double>(sums.copied);
    case metric_kind::remote_frees: return static_cast<double>(sums.remote_frees);
    case metric_kind::sites: return 1;
    case metric_kind::peak: return static_cast<double>(sums.peak_bytes);
    case metric_kind::live_at_end:
    case metric_kind::never_freed: return static_cast<double>(sums.end_bytes);
    case metric_kind::growth: return sums.growth;
    case metric_kind::cpu_time:
    case metric_kind::cpu_share:
    case metric_kind::share:
    case metric_kind::lock_waits:
    case metric_kind::system_calls:
    case metric_kind::violations: break;
  }
  return 0;
}

bool is_of_program(metric_kind metric) {
  return metric == metric_kind::share || metric == metric_kind::lock_waits || metric == metric_kind::system_calls ||
         metric == metric_kind::violations;
}

// Returns the range of a sum over places of which samples of the heap tell. `samples` has the sums of these places.
figure_range range_of(const limit& limit, double value, const location_sums& samples, const totals& whole) {
  if (whole.interval == 0) return {value, value};
  const bool is_of_all = !limit.category && limit.function.empty() && limit.file.empty();
  const auto range_of_blocks =
      [&] {  // a sample stands for as many blocks as the mean of those seen does, or the most there can be
        const double sampled = as_double(samples.allocations);
        const double unit = sampled == 0 ? whole.interval / format::cost_of_a_block : samples.variance / sampled + 1;
        const figure_range range = range_of_samples(unit, value);
        return figure_range{range.low, std::min(range.high, whole.allocations)};
      };
  const auto range_of_bytes = [&](double limit_bytes) {
    const figure_range range = range_of_samples(whole.interval, value);
    return figure_range{range.low, std::min(range.high, limit_bytes)};
  };
  switch (limit.metric) {
    case metric_kind::allocations:
      return is_of_all ? figure_range{whole.allocations, whole.allocations} : range_of_blocks();
    case metric_kind::remote_frees: return range_of_blocks();
    case metric_kind::bytes: return is_of_all ? figure_range{whole.bytes, whole.bytes} : range_of_bytes(whole.bytes);
    case metric_kind::copied: return range_of_bytes(whole.bytes);
    case metric_kind::peak: return is_of_all ? whole.peak_range : range_of_bytes(whole.peak_range.high);
    case metric_kind::live_at_end:
    case metric_kind::never_freed: return is_of_all ? whole.end_range : range_of_bytes(whole.end_range.high);
    case metric_kind::sites:
    case metric_kind::growth:  // its trend is judged by the errors of the samples
    case metric_kind::cpu_time:
    case metric_kind::cpu_share:
    case metric_kind::share:
    case metric_kind::lock_waits:
    case metric_kind::system_calls:
    case metric_kind::violations: break;
  }
  return {value, value};
}

// Returns the CPU time or the share of it that the limit is about.
figure_range processor_range(const limit& limit, const totals& whole) {
  figure_range share{1, 1};
  if (!limit.function.empty() || !limit.file.empty()) {
    if (whole.samples == 0) return {0, limit.metric == metric_kind::cpu_share ? 1 : whole.cpu_seconds.high};
    const share_estimate estimate = whole.share_at(limit);
    share = {std::max(estimate.share - estimate.error, 0.0), std::min(estimate.share + estimate.error, 1.0)};
  }
  if (limit.metric == metric_kind::cpu_share) return share;
  return {share.low * whole.cpu_seconds.low, share.high * whole.cpu_seconds.high};
}

// Returns the limit without its number.
limit subject_of(std::string_view text) {
  limit limit;
  limit.text = text;
  std::vector<std::string_view> left = words_of(text);
  for (const auto candidate :
       {heap_category::same_thread, heap_category::cross_thread, heap_category::start_up, heap_category::kept}) {
    if (!limit.category && take(left, name(candidate))) limit.category = candidate;
  }
  constexpr std::array metrics = {std::pair{"allocations", metric_kind::allocations},
                                  std::pair{"bytes", metric_kind::bytes},
                                  std::pair{"copied bytes", metric_kind::copied},
                                  std::pair{"remote frees", metric_kind::remote_frees},
                                  std::pair{"sites", metric_kind::sites},
                                  std::pair{"peak", metric_kind::peak},
                                  std::pair{"in use at the end", metric_kind::live_at_end},
                                  std::pair{"never freed", metric_kind::never_freed},
                                  std::pair{"growth", metric_kind::growth},
                                  std::pair{"cpu time", metric_kind::cpu_time},
                                  std::pair{"cpu share", metric_kind::cpu_share},
                                  std::pair{"heap share", metric_kind::share},
                                  std::pair{"lock waits", metric_kind::lock_waits},
                                  std::pair{"system calls", metric_kind::system_calls},
                                  std::pair{"violations", metric_kind::violations}};
  const auto* const metric =
      std::find_if(metrics.begin(), metrics.end(), [&](const auto& candidate) { return take(left, candidate.first); });
  if (metric == metrics.end()) {
    throw wrong_limit("\"" + std::string(text) +
                      "\" names no metric; the metrics are: allocations, bytes, copied bytes, remote frees, sites, "
                      "peak, in use at the end, never freed, growth (a category may stand before these), cpu time, cpu "
                      "share, heap share, lock waits, system calls, violations");
  }
  limit.metric = metric->second;
  for (auto [keyword, destination] : {std::pair{"at function", &limit.function}, std::pair{"at file", &limit.file}}) {
    if (!take(left, keyword)) continue;
    if (left.empty()) throw wrong_limit("\"" + std::string(text) + "\" has no name after \"" + keyword + "\"");
    *destination = left.front();
    left.erase(left.begin());
  }
  limit.is_per_request = take(left, "per request");
  if (!left.empty()) {
    throw wrong_limit("\"" + std::string(text) + "\" has an unexpected \"" + std::string(left.front()) +
                      "\"; only \"at function NAME\", \"at file NAME\" and \"per request\" may follow, in this order");
  }
  const bool is_of_a_part = limit.category || !limit.function.empty() || !limit.file.empty();
  if (is_of_program(limit.metric) && (is_of_a_part || (is_share(limit.metric) && limit.is_per_request))) {
    throw wrong_limit("\"" + std::string(metric->first) +
                      "\" counts the whole program: leave out the category, \"at\" and, for a share, \"per request\"");
  }
  if (is_of_processor(limit.metric) && limit.category)
    throw wrong_limit("\"" + std::string(metric->first) + "\" counts no blocks: leave out the category");
  if (limit.metric == metric_kind::cpu_share && limit.function.empty() && limit.file.empty())
    throw wrong_limit("\"cpu share\" is 100 % of the whole program; it needs \"at function NAME\" or \"at file NAME\"");
  if (limit.is_per_request && (limit.metric == metric_kind::peak || limit.metric == metric_kind::growth ||
                               limit.metric == metric_kind::cpu_share))
    throw wrong_limit("\"" + std::string(metric->first) + "\" has no value per request: leave out \"per request\"");
  return limit;
}

}  // namespace

limit limit_of(std::string_view text, double maximum) {
  limit limit = subject_of(text);
  std::array<char, 32> number{};
  const char* const end = std::to_chars(number.data(), number.data() + number.size(), maximum).ptr;
  limit.maximum = number_of({number.data(), end}, text, limit.metric);
  return limit;
}

limit limit_of(std::string_view expression) {
  const std::size_t sign = expression.find("<=");
  if (sign == std::string_view::npos) {
    throw wrong_limit("\"" + std::string(expression) +
                      "\" is neither a .toml file nor a limit, such as 'same-thread allocations <= 1000'");
  }
  std::string_view subject = expression.substr(0, sign), number = expression.substr(sign + 2);
  while (number.starts_with(' ')) number.remove_prefix(1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  while (subject.ends_with(' ')) subject.remove_suffix(1);
  std::string complete(subject);
  constexpr std::string_view unit = " per request";
  if (number.ends_with(unit)) {
    number.remove_suffix(unit.size());
    complete += unit;
  }
  limit limit = subject_of(complete);
  limit.maximum = number_of(number, complete, limit.metric);
  return limit;
}

bool is_at(const limit& limit, std::string_view function) { return is_called(function, limit.function); }

bool is_in(const limit& limit, std::string_view file) { return ends_in(file, limit.file, "/"); }

bool is_meant(const limit& limit, std::string_view function, std::string_view file) {
  return (limit.function.empty() || is_at(limit, function)) && (limit.file.empty() || is_in(limit, file));
}

bool is_share(metric_kind metric) {
  return metric == metric_kind::share || metric == metric_kind::lock_waits || metric == metric_kind::cpu_share;
}

bool is_of_processor(metric_kind metric) { return metric == metric_kind::cpu_time || metric == metric_kind::cpu_share; }

bool is_of_memory(metric_kind metric) {
  return metric == metric_kind::peak || metric == metric_kind::live_at_end || metric == metric_kind::never_freed ||
         metric == metric_kind::growth;
}

std::vector<limit_check> check_limits(const std::vector<limit>& limits, const located_sums& located,
                                      const totals& whole, double requests) {
  std::vector<limit_check> checks;
  for (const limit& limit : limits) {
    limit_check& check = checks.emplace_back(limit_check{limit, 0, {}, nullptr});
    location_sums samples;
    for (const location_sums& sums : located.locations_in(limit.category)) {
      if (is_of_program(limit.metric) || is_of_processor(limit.metric) || !is_meant(limit, sums.function, sums.file))
        continue;
      check.value += value_of(limit.metric, sums);
      samples.allocations += sums.allocations;
      samples.variance += sums.variance;
      if (check.largest == nullptr || value_of(limit.metric, sums) > value_of(limit.metric, *check.largest))
        check.largest = &sums;
    }
    if (limit.metric == metric_kind::share) check.value = whole.heap_share;
    if (limit.metric == metric_kind::lock_waits) check.value = whole.lock_waits;
    if (limit.metric == metric_kind::system_calls) check.value = whole.system_calls;
    if (limit.metric == metric_kind::violations) check.value = whole.violations;
    check.range = range_of(limit, check.value, samples, whole);
    if (limit.metric == metric_kind::system_calls)
      check.range = {check.value * std::max(1 - whole.system_call_error, 0.0),
                     check.value * (1 + whole.system_call_error)};
    if (is_of_processor(limit.metric)) {
      check.range = processor_range(limit, whole);
      check.value = (check.range.low + check.range.high) / 2;
    }
    if (check.range.is_exact()) check.value = check.range.low;
    if (limit.is_per_request) {
      if (requests <= 0) throw wrong_limit("\"" + limit.text + "\" needs to know how many requests there were");
      check.value /= requests;
      check.range = {check.range.low / requests, check.range.high / requests};
    }
  }
  return checks;
}

}  // namespace tarn::analyse
