#include "profiler/format/part.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "profiler/base/failure.hpp"

namespace tarn::command {

std::uint64_t time_of(std::string_view text, std::uint64_t whole_ns) {
  double value = 0;
  const auto [unit_begin, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(unit_begin, static_cast<std::size_t>(text.data() + text.size() - unit_begin));
  const auto whole = static_cast<double>(whole_ns);
  const std::array<std::pair<std::string_view, double>, 6> units = {
      {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"min", 6e10}, {"h", 3.6e12}, {"%", whole / 100}}};
  for (const auto& [name, factor] : units) {
    if (error != std::errc() || name != unit || !std::isfinite(value) || value < 0) continue;
    return static_cast<std::uint64_t>(std::min(value * factor, whole));
  }
  fail(exit_code::usage, "invalid time '{}'; write it as in 2s, 500ms or 1.5min", text);
}

format::interval part_of(const format::recording& whole, const part_request& request) {
  if (whole.snapshots.empty()) {
    fail(exit_code::io_error, "--start and --end need at least one snapshot; this recording has none");
  }
  const std::uint64_t end = whole.snapshots.back().at_ns;
  const format::interval requested_interval{request.begin.empty() ? 0 : time_of(request.begin, end),
                                            request.end.empty() ? end : time_of(request.end, end)};
  if (requested_interval.from_ns >= requested_interval.to_ns) {
    if (!request.end.empty()) fail(exit_code::usage, "--start {} is not before --end {}", request.begin, request.end);
    fail(exit_code::usage, "--start {} is not before the end of the recording, {:.2f} s", request.begin,
         static_cast<double>(end) / 1e9);
  }
  return format::to_snapshots(whole, requested_interval);
}

}  // namespace tarn::command
