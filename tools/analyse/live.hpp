// What happened between two looks at a recording that goes on: what `tarn top` shows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/recording.hpp"

namespace tarn::analyse {

enum class live_view { threads, sites, locks, calls };
inline constexpr std::array live_views = {live_view::threads, live_view::sites, live_view::locks, live_view::calls};
const char* name(live_view of);

enum class live_unit { count, bytes, milliseconds };
struct live_column {
  const char* title;
  live_unit in;
  bool is_rate;  // else what is there now
};
constexpr std::size_t most_live_columns = 7;
std::span<const live_column> columns_of(live_view of);

struct live_row {
  std::string what;        // thread, type of lock, system call; of a site empty
  std::uint32_t site = 0;  // in the recording: where; 0 of threads
  const char* category = "";
  std::array<double, most_live_columns> values{};  // a second, where the column is a rate
};

// One for each that ever did something. `before` may be an empty recording: then of all that was, `seconds` long.
std::vector<live_row> live_rows(live_view of, const format::recording& before, const format::recording& now,
                                double seconds);

// Of all threads together, a second.
struct live_totals {
  double allocations = 0, frees = 0, bytes = 0, foreign_frees = 0, wait_ms = 0, calls = 0, call_ms = 0;
  std::uint64_t in_use = 0;             // blocks, now
  std::array<double, 4> by_category{};  // allocations of sites, by `category`
};
live_totals totals_of(const format::recording& before, const format::recording& now, double seconds);

}  // namespace tarn::analyse
