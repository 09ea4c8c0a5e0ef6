// Computes the changes between two snapshots of a running recording, which `tarn top` shows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/format/recording.hpp"

namespace tarn::analyse {

enum class live_view { threads, sites, locks, calls };
inline constexpr std::array live_views = {live_view::threads, live_view::sites, live_view::locks, live_view::calls};
const char* name(live_view view);

enum class live_unit { count, bytes, milliseconds };
struct live_column {
  const char* title;
  live_unit unit;
  bool is_rate;  // if false, the column shows the current value
};
constexpr std::size_t max_live_columns = 7;
std::span<const live_column> columns_of(live_view view);

struct live_row {
  std::string subject;     // thread, type of lock or system call; empty for a site
  std::uint32_t site = 0;  // the site in the recording; 0 for a thread
  const char* category = "";
  std::array<double, max_live_columns> values{};  // per second if the column is a rate
};

// Returns one row for each item that was ever active. `before` may be an empty recording: then the rows cover
// everything so far, over `seconds`.
std::vector<live_row> live_rows(live_view view, const format::recording& before, const format::recording& now,
                                double seconds);

// The totals of all threads, per second.
struct live_totals {
  double allocations = 0, frees = 0, bytes = 0, remote_frees = 0, wait_ms = 0, calls = 0, call_ms = 0;
  std::uint64_t in_use = 0;             // current number of blocks
  std::array<double, 4> by_category{};  // allocations of sites, by `category`
};
live_totals totals_of(const format::recording& before, const format::recording& now, double seconds);

}  // namespace tarn::analyse
