// Formats numbers and names for people at a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiler/advise/analysis.hpp"
#include "profiler/base/quantity_text.hpp"

namespace tarn::command {

constexpr std::size_t text_width = 100;  // columns

// Formats "1 site", "60,000 sites", "2 mutexes".
std::string count_text(std::uint64_t number, std::string_view noun);
// Returns "3 threads", or "at least 3 threads".
std::string thread_count_text(std::uint32_t threads, bool may_be_more);
// Adds details to titles that are equal, until they differ: to each the first of its details that tells them apart.
// All have as many details.
std::vector<std::string> distinct_titles(std::vector<std::string> titles,
                                         const std::vector<std::vector<std::string>>& details);
// Returns "1,234 write calls", "about 1,200 write calls (± 5 %)" where `error` is not 0, and no number where `error` is
// 1 or more.
std::string estimate_text(std::uint64_t count, double error, std::string_view noun);
// Formats "512 bytes", "1.5 MiB".
std::string bytes_text(double bytes);
// Formats a cost in CPU time as one figure with its range: "about 4 % of CPU (2–7 %)". If the CPU time of
// the program is unknown, "about 40 ms of CPU time (20–70)", of all threads together in the whole run.
std::string cost_text(const analyse::analysis& analysis, const analyse::range& ns);
// Formats the cost or the saving of a change, as a share of the CPU time of the program before it. A cost may be
// more than all of that time.
std::string change_text(const analyse::analysis& before, const analyse::range& ns);
// The part of a program that a predicted saving covers, if the remedy also saves work elsewhere.
constexpr std::string_view allocator_alone = "in the allocator alone", calls_alone = "by these calls alone";
// Formats the saving of a remedy: "saves about 4 % of CPU (2–7 %)"; "may save …" if the range reaches to 0 or below;
// "no gain expected: …" if its middle does. If the prediction covers only a part of the saving, `covered` names it:
// "saves at least about 4 % of CPU (2–7 % in the allocator alone)".
std::string gain_text(const analyse::analysis& analysis, const analyse::range& ns, std::string_view covered = {});
// Formats "main.cpp:12 serve()", with the known parts, in at most `columns`.
std::string location_text(const analyse::code_location& frame, std::size_t columns);
// Formats the same with the template arguments.
std::string instance_text(const analyse::code_location& frame, std::size_t columns);
// Formats the function alone, without arguments.
std::string function_text(const analyse::code_location& frame, std::size_t columns);
// Replaces line ends and escapes to the terminal, which a name or a script may have, by spaces.
std::string without_controls(std::string text);
// Cuts a text without such characters.
std::string cut(std::string text, std::size_t columns);
// Breaks a text at spaces, so that no line has more than text_width columns with `indent` spaces before it. The first
// line is not indented.
std::string wrap_text(std::string_view text, std::size_t indent);
// Returns what times that threads spent at the same time add up to: ", summed over 4 threads in a run of 3.3 s".
std::string summed_text(const format::recording& recording);
// Formats the path of a program and its arguments as they were given.
std::string command_line_of(const format::recording& recording);

// Returns `text` with escapes for colour if standard output is a terminal with colour (and `NO_COLOR` is not set).
class paint {
 public:
  paint();
  std::string bold(std::string_view text) const { return escape("1", text); }
  std::string strong(std::string_view text) const { return escape("1;36", text); }
  std::string good(std::string_view text) const { return escape("32", text); }
  std::string bad(std::string_view text) const { return escape("31", text); }
  std::string faint(std::string_view text) const { return escape("2", text); }

 private:
  std::string escape(const char* code, std::string_view text) const;
  bool is_on_;
};

}  // namespace tarn::command
