#include "tarn/words.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "analyse/names.hpp"

namespace tarn::command {
namespace {

// Counts columns of UTF-8; our own texts have one per letter.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char each : text) columns += (static_cast<unsigned char>(each) & 0xc0U) != 0x80U ? 1 : 0;
  return columns;
}

std::string tidy(double value) {
  const double size = std::fabs(value);
  return fmt::format("{:.{}f}", value, size >= 10 || size == 0 ? 0 : size >= 1 ? 1 : 2);
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Removes arguments and template arguments: `std::vector<…>::push_back`.
std::string short_function(std::string_view function) {
  std::string made;
  int depth = 0;
  for (const char each : analyse::qualified(function)) {
    if (each == '(' && depth == 0 && !made.ends_with("operator") && !made.empty()) break;
    if (each == '<' && depth++ == 0) made += "<…>";
    if (depth == 0) made += each;
    if (each == '>' && depth > 0) --depth;
  }
  return made;
}

struct unit {
  std::string_view one;    // behind a single figure
  std::string_view range;  // behind the end of a range
};
constexpr unit of_processor = {" % of CPU", " %"};
constexpr unit of_second = {" CPU-ms per second", ""};
constexpr unit of_run = {" ms of CPU time", ""};

// Puts one figure first, and its range behind it: "about 4 % of CPU (2–7 %)".
std::string guess_words(const analyse::range& of, const unit& in, std::string_view more) {
  if (std::max(std::fabs(of.low), std::fabs(of.high)) < 0.005) return fmt::format("less than 0.01{}{}", in.one, more);
  const std::string low = tidy(of.low), high = tidy(of.high);
  if (low == high) return fmt::format("{}{}{}", low, in.one, more);
  const std::string_view dash = of.low < 0 ? " to " : "–";
  return fmt::format("about {}{}{} ({}{}{}{})", tidy(of.middle()), in.one, more, low, dash, high, in.range);
}

std::string cost_in_words(const analyse::analysis& all, const analyse::range& ns, std::string_view more) {
  if (all.knows_processor_time()) return guess_words(all.share(ns) * 100, of_processor, more);
  if (all.whole().wall_ns > 0) return guess_words(all.ms_per_second(ns), of_second, more);
  return guess_words(ns * 1e-6, of_run, more);
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string bytes_words(double bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 10240 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{} {}", tidy(bytes), units[unit]);
}

std::string range_words(const analyse::range& of) {
  const std::string low = tidy(of.low), high = tidy(of.high);
  return low == high ? low : low + " to " + high;
}

std::string cost_words(const analyse::analysis& all, const analyse::range& ns) { return cost_in_words(all, ns, ""); }

std::string gain_words(const analyse::analysis& all, const analyse::range& ns, bool at_least) {
  if (at_least) return "saves " + cost_in_words(all, {std::max(ns.low, 0.0), ns.high}, " or more");
  if (ns.low > 0) return "saves " + cost_words(all, ns);
  return (ns.middle() > 0 ? "may save " : "no gain expected: ") + cost_words(all, ns);
}

std::string cut(std::string text, std::size_t columns) {
  if (columns_of(text) <= columns) return text;
  std::size_t at = 0, shown = 0;
  for (; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U;
    if (starts && ++shown == columns) break;
  }
  return text.substr(0, at) + "…";
}

std::string place_words(const analyse::place& at, std::size_t columns) {
  const std::string where = at.file.empty() ? fmt::format("{}+{:#x}", file_name(at.module), at.offset)
                                            : fmt::format("{}:{}", file_name(at.file), at.line);
  return cut(at.function.empty() ? where : where + ' ' + short_function(at.function), columns);
}

std::string function_words(const analyse::place& at, std::size_t columns) {
  return cut(short_function(at.function), columns);
}

std::string program_words_of(const format::recording& in) {
  std::string words;
  for (const std::string& word : in.program.words) words += (words.empty() ? "" : " ") + word;
  for (char& each : words) {  // replaces a script's line ends and escapes to the terminal
    if (static_cast<unsigned char>(each) < ' ' || each == 0x7f) each = ' ';
  }
  return words;
}

paint::paint() {
  const char* const none = std::getenv("NO_COLOR");
  is_on_ = ::isatty(STDOUT_FILENO) == 1 && (none == nullptr || *none == '\0');
}

std::string paint::with(const char* code, std::string_view text) const {
  return is_on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace tarn::command
