// A data source of `tarn top`: some tables of a running process, without a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "profiler/findings/live.hpp"

namespace tarn::command {

class top_source {
 public:
  virtual ~top_source() = default;

  // Takes another snapshot, `seconds` after the previous one. Rates exist from the second one on.
  virtual void look(double seconds) = 0;

  // The tables, each with its columns and details.
  virtual std::span<const char* const> views() const = 0;
  virtual std::span<const analyse::live_column> columns(std::size_t view) const = 0;
  virtual std::string last_title(std::size_t view) const = 0;
  virtual std::size_t first_view() const { return 0; }

  // Values of the time between the last two snapshots, or totals. Unknown values are NaN.
  virtual std::vector<analyse::live_row> rows(std::size_t view, bool shows_totals) = 0;
  // The details of a row: the text that a search looks through, and the text that is shown.
  virtual std::string text_of(std::size_t view, const analyse::live_row& row) = 0;
  // The second and third line. `per` is "/s", or empty for totals.
  virtual std::vector<std::string> sums(bool shows_totals, const char* per) const = 0;
  virtual std::size_t threads_seen() const = 0;
};

}  // namespace tarn::command
