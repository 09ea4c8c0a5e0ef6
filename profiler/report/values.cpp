#include "profiler/report/values.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "profiler/findings/time/thread_roles.hpp"
#include "profiler/symbols/names.hpp"

namespace tarn::command {
namespace {

// Counts columns of UTF-8; our own texts have one per letter.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char letter : text) columns += (static_cast<unsigned char>(letter) & 0xc0U) != 0x80U ? 1 : 0;
  return columns;
}

// Removes arguments and template arguments: `std::vector<…>::push_back`. Python's `<module>` is none.
std::string short_function(const analyse::code_location& frame) {
  if (frame.module == analyse::python_module) return frame.function;
  std::string result;
  int depth = 0;
  for (const char letter : analyse::without_arguments(frame.function)) {
    if (letter == '<' && depth++ == 0) result += "<…>";
    if (depth == 0) result += letter;
    if (letter == '>' && depth > 0) --depth;
  }
  return result;
}

// Formats "main.cpp:12"; without debug information "program+0x1234".
std::string position_text(const analyse::code_location& frame) {
  if (frame.file.empty() && frame.module == analyse::python_module) return frame.module;  // an unknown function
  if (!frame.file.empty() && frame.line == 0 && frame.module == analyse::python_module)
    return analyse::file_name(frame.file);  // its line is not known
  return frame.file.empty() ? fmt::format("{}+{:#x}", analyse::file_name(frame.module), frame.offset)
                            : fmt::format("{}:{}", analyse::file_name(frame.file), frame.line);
}

struct unit {
  std::string_view single;  // behind a single figure
  std::string_view range;   // behind the end of a range
};
constexpr unit of_processor = {" % of CPU", " %"};
constexpr unit of_run = {" ms of CPU time", ""};

// Puts the middle of a range first, and the range behind it: "about 4 % of CPU (2–7 %)". `covered` names the part of
// the program that the range covers.
std::string guess_text(const analyse::range& range, const unit& unit_text, std::string_view covered) {
  const std::string part = covered.empty() ? "" : fmt::format(" {}", covered);
  if (std::max(std::fabs(range.low), std::fabs(range.high)) < 0.005)
    return fmt::format("less than 0.01{}{}", unit_text.single, part);
  const range_figures figures = figures_of(range.low, range.high);
  if (figures.low == figures.high) return fmt::format("{}{}{}", figures.low, unit_text.single, part);
  return fmt::format("about {}{} ({}{}{}{}{})", figures.middle, unit_text.single, figures.low,
                     range.low < 0 ? " to " : "–", figures.high, unit_text.range, part);
}

std::string cost_in_text(const analyse::analysis& analysis, const analyse::range& ns, std::string_view covered) {
  if (analysis.knows_cpu_time()) return guess_text(analysis.share(ns) * 100, of_processor, covered);
  return guess_text(ns * 1e-6, of_run, covered);
}

}  // namespace

std::string thread_count_text(std::uint32_t threads, bool may_be_more) {
  return (may_be_more ? "at least " : "") + count_text(threads, "thread");
}

std::string count_text(std::uint64_t number, std::string_view noun) {
  if (number == 1) return fmt::format("1 {}", noun);
  constexpr std::string_view vowels = "aeiou";
  const bool ends_in_y =
      noun.size() > 1 && noun.ends_with('y') && vowels.find(noun[noun.size() - 2]) == std::string_view::npos;
  if (ends_in_y) return fmt::format("{} {}ies", group_digits(number), noun.substr(0, noun.size() - 1));
  const bool is_sibilant =
      noun.ends_with('s') || noun.ends_with('x') || noun.ends_with('z') || noun.ends_with("ch") || noun.ends_with("sh");
  return fmt::format("{} {}{}", group_digits(number), noun, is_sibilant ? "es" : "s");
}

std::vector<std::string> distinct_titles(std::vector<std::string> titles,
                                         const std::vector<std::vector<std::string>>& details) {
  for (std::size_t level = 0; !details.empty() && level < details.front().size(); ++level) {
    std::map<std::string, std::set<std::string>> details_by_title;
    for (std::size_t index = 0; index < titles.size(); ++index)
      details_by_title[titles[index]].insert(details[index][level]);
    for (std::size_t index = 0; index < titles.size(); ++index) {
      if (details_by_title[titles[index]].size() > 1) titles[index] += ", " + details[index][level];
    }
  }
  return titles;
}

std::string estimate_text(std::uint64_t count, double error, std::string_view noun) {
  if (error == 0) return count_text(count, noun);
  if (error >= 1) return fmt::format("some {}s (too few samples for a number)", noun);
  return fmt::format("about {} (± {:.0f} %)", count_text(round_to_error(count, error), noun), std::ceil(error * 100));
}

std::string bytes_text(double bytes) {
  constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 10240 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{} {}", tidy(bytes), units[unit]);
}

std::string wrap_text(std::string_view text, std::size_t indent) {
  std::string result;
  for (std::size_t room = text_width - indent; columns_of(text) > room;) {
    std::size_t end = text.rfind(' ');
    while (end != std::string_view::npos && columns_of(text.substr(0, end)) > room)
      end = end == 0 ? std::string_view::npos : text.rfind(' ', end - 1);
    if (end == std::string_view::npos) break;  // one long word
    result.append(text.substr(0, end)).append("\n").append(indent, ' ');
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

std::string cost_text(const analyse::analysis& analysis, const analyse::range& ns) {
  return cost_in_text(analysis, ns, "");
}

std::string change_text(const analyse::analysis& before, const analyse::range& ns) {
  return before.knows_cpu_time() ? guess_text(before.ratio(ns) * 100, of_processor, "") : cost_text(before, ns);
}

std::string gain_text(const analyse::analysis& analysis, const analyse::range& ns, std::string_view covered) {
  const std::string text = cost_in_text(analysis, ns, covered);
  const bool is_bound = !covered.empty() && !text.starts_with("less");
  const char* const verb = ns.low > 0        ? (is_bound ? "saves at least " : "saves ")
                           : ns.middle() > 0 ? "may save "
                                             : "no gain expected: ";
  return verb + text;
}

std::string without_controls(std::string text) {
  for (std::size_t index = 0; index < text.size(); ++index) {
    const auto code = static_cast<unsigned char>(text[index]);
    // Terminals may also obey U+0080 to U+009F, which are C2 80 to C2 9F.
    const bool is_second = code >= 0x80 && code < 0xa0 && index != 0 && text[index - 1] == '\xc2';
    if (is_second) text[index - 1] = ' ';
    if (code < ' ' || code == 0x7f || is_second) text[index] = ' ';
  }
  return text;
}

std::string cut(std::string text, std::size_t columns) {
  text = without_controls(std::move(text));
  if (columns_of(text) <= columns) return text;
  std::size_t position = 0, column_count = 0;
  for (; position < text.size(); ++position) {
    const bool starts_letter = (static_cast<unsigned char>(text[position]) & 0xc0U) != 0x80U;
    if (starts_letter && ++column_count == columns) break;
  }
  return text.substr(0, position) + "…";
}

std::string location_text(const analyse::code_location& frame, std::size_t columns) {
  const std::string position = position_text(frame);
  return cut(frame.function.empty() ? position : position + ' ' + short_function(frame), columns);
}

std::string instance_text(const analyse::code_location& frame, std::size_t columns) {
  return cut(position_text(frame) + ' ' + analyse::without_arguments(frame.function), columns);
}

std::string function_text(const analyse::code_location& frame, std::size_t columns) {
  return cut(short_function(frame), columns);
}

std::string summed_text(const format::recording& recording) {
  const std::size_t threads = count_of_threads(recording);
  const bool is_whole = recording.has_ended && recording.part == format::interval{};
  return (threads > 1                ? fmt::format(", summed over {}", count_text(threads, "thread"))
          : threads == 1 && is_whole ? ","
                                     : "") +
         (is_whole ? " in a run of " + duration_text(recording.end.wall_us * 1000) : "");
}

std::string command_line_of(const format::recording& recording) {
  return without_controls(fmt::format("{}", fmt::join(recording.program.arguments, " ")));
}

paint::paint() {
  const char* const no_color = std::getenv("NO_COLOR");
  is_on_ = ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

std::string paint::escape(const char* code, std::string_view text) const {
  return is_on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace tarn::command
