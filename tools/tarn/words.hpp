// Numbers and names as a person reads them on a terminal.
#pragma once

#include <string>
#include <string_view>

#include "analyse/analysis.hpp"

namespace tarn::command {

constexpr std::size_t page_width = 100;  // columns

// 1,234,567
std::string grouped(std::uint64_t number);
// "512 bytes", "1.5 MiB"
std::string bytes_words(double bytes);
// "1.2 to 3.4", with as many digits as tell
std::string range_words(const analyse::range& of);
// "12 to 30 ms/s", or the milliseconds themselves where it is not known how long the program ran
std::string time_words(const analyse::analysis& all, const analyse::range& ns);
// The same of what a remedy gives: "12 to 30 ms/s or more" where it spares what no recording shows, "up to 30 ms/s"
// where it may be nothing, "up to 30 ms/s, or costs up to 2 ms/s".
std::string gain_words(const analyse::analysis& all, const analyse::range& ns, bool at_least);
// "saves …", or what it may save and cost.
std::string saving_words(const analyse::analysis& all, const analyse::range& ns);
// "1.2 to 3.4 %"
std::string share_words(const analyse::range& share);
// "main.cpp:12 serve()", with what is known, in at most `columns`
std::string place_words(const analyse::place& at, std::size_t columns);
// Its function alone, without arguments
std::string function_words(const analyse::place& at, std::size_t columns);
std::string cut(std::string text, std::size_t columns);
// The path of a program and its arguments, as they were given
std::string program_words_of(const format::recording& in);

// Where standard output is a terminal that shows colour (and NO_COLOR is not set): escapes around `text`.
class paint {
 public:
  paint();
  std::string bold(std::string_view text) const { return with("1", text); }
  std::string strong(std::string_view text) const { return with("1;36", text); }
  std::string good(std::string_view text) const { return with("32", text); }
  std::string bad(std::string_view text) const { return with("31", text); }
  std::string faint(std::string_view text) const { return with("2", text); }

 private:
  std::string with(const char* code, std::string_view text) const;
  bool is_on_;
};

}  // namespace tarn::command
