// What `tarn top` can look at: some tables of a process that goes on, without a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyse/live.hpp"

namespace tarn::command {

class top_source {
 public:
  virtual ~top_source() = default;

  // Another look, `seconds` after the one before: from the second one on there are rates.
  virtual void look(double seconds) = 0;

  // The tables, and of each its columns and what stands behind them.
  virtual std::span<const char* const> views() const = 0;
  virtual std::span<const analyse::live_column> columns(std::size_t view) const = 0;
  virtual std::string last_title(std::size_t view) const = 0;
  virtual std::size_t first_view() const { return 0; }

  // Of the time between the last two looks, or of all that was. Where a value is not known it is not a number.
  virtual std::vector<analyse::live_row> rows(std::size_t view, bool totals) = 0;
  // Behind the columns: what to look for, and what is shown.
  virtual std::string words_of(std::size_t view, const analyse::live_row& row) = 0;
  // The second and third line. `per`: "/s", or nothing for totals.
  virtual std::vector<std::string> sums(bool totals, const char* per) const = 0;
  virtual std::size_t threads_seen() const = 0;
};

}  // namespace tarn::command
