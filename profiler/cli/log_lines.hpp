// Reads the lines that tarn::io::logger writes, in both of its forms, and chooses among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::command {

// A line of a logger. `members` are its names and values in the order of the line; a value is written as in JSON.
struct log_record {
  std::string time;       // 2026-11-22T10:00:00.000000Z
  std::size_t level = 0;  // index into the names of the levels
  std::vector<std::pair<std::string, std::string>> members;
};

// Returns nothing for a line that no logger wrote.
std::optional<log_record> parse_log_line(std::string_view line);

// Chooses lines, and says how they are printed.
struct log_selection {
  std::string since;                  // lines of this time and later; empty: of any time
  std::optional<std::size_t> level;   // lines of this level and above
  bool includes_other_lines = false;  // also those that no logger wrote, although time or level are chosen
  bool as_json = false;
  bool has_numbers = false;
  std::optional<std::string> otlp_service;  // each line is a LogsData of OTLP/JSON, of a service of this name

  bool is_filter() const { return !since.empty() || level.has_value(); }

  // Returns the line as it is printed; nothing if it is not chosen.
  std::optional<std::string> format_line(std::uint64_t number, std::string_view line) const;
};

// Returns a time as loggers write it. `text` is a date with or without a time of the day, in UTC, or how long ago it
// was: 90s, 10m, 2h, 7d. Throws a failure for other texts.
std::string parse_since(const std::string& text);

// Returns the index of the level. Throws a failure that names all levels.
std::size_t parse_level(const std::string& name);

}  // namespace tarn::command
