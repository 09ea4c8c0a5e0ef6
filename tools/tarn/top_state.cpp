#include "tarn/top_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "analyse/findings.hpp"
#include "analyse/stacks.hpp"
#include "exports/text.hpp"
#include "tarn/words.hpp"

namespace tarn::command {
namespace {

using analyse::live_column;
using analyse::live_row;
using analyse::live_unit;
using analyse::live_view;

constexpr int category_width = 12;

int width_of(const live_column& of) { return std::max(8, static_cast<int>(std::string_view(of.title).size()) + 1); }

// What may stand on a terminal: a name may have any bytes.
std::string printable(const std::string& text) {
  std::string made = exports::well_formed(text);
  for (char& each : made) {
    const auto code = static_cast<unsigned char>(each);
    if (code < 0x20 || code == 0x7f) each = ' ';
  }
  return made;
}

// At most eight columns: 0, 12.3, 1,234, 56.7k, 8.9M
std::string short_number(double value) {
  constexpr std::array units = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  const bool is_small = value < 10'000;
  for (; !is_small && value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1000;
  if (unit == 0)
    return value >= 100 || value == 0 ? grouped(static_cast<std::uint64_t>(std::llround(value)))
                                      : fmt::format("{:.1f}", value);
  return fmt::format("{:.{}f}{}", value, value < 100 ? 1 : 0, units[unit]);
}

std::string short_bytes(double value) {
  constexpr std::array units = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f}{}", value, unit != 0 && value < 100 ? 1 : 0, units[unit]);
}

std::string number_words(double value, const live_column& in) {
  if (in.in == live_unit::count && !in.is_rate && value < 10'000) return grouped(static_cast<std::uint64_t>(value));
  return in.in == live_unit::bytes ? short_bytes(value) : short_number(value);
}

std::string title_of(const live_column& of, bool totals) {
  std::string title = of.title;
  if (totals && title.ends_with("/s")) title.resize(title.size() - 2);
  return title;
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace

process_facts facts_of(pid_t process) {
  process_facts facts;
  std::ifstream file(fmt::format("/proc/{}/status", process));
  facts.runs = static_cast<bool>(file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    if (name == "State:" && (value == "Z" || value == "X")) facts.runs = false;
    if (name == "VmRSS:") facts.resident = std::strtoull(value.c_str(), nullptr, 10) * 1024;
    if (name == "Threads:") facts.threads = std::strtoull(value.c_str(), nullptr, 10);
  }
  return facts;
}

void top_state::look(const format::recording& now, double seconds, const process_facts& process) {
  if (process_.runs && !process.runs) totals_ = true;  // nothing happens any more
  process_ = process;
  if (paused_) return;
  before_ = std::move(now_);
  now_ = now;
  seconds_ = symbols_ == nullptr ? std::numeric_limits<double>::infinity() : std::max(seconds, 1e-3);
  if (symbols_ == nullptr || modules_ != now_.modules.size()) {
    symbols_ = std::make_unique<analyse::symbols>(now_);
    modules_ = now_.modules.size();
  }
  sort();
}

void top_state::sort() {
  const format::recording none;
  const format::recording& from = totals_ ? none : before_;
  const double seconds = totals_ ? 1 : seconds_;
  rows_ = analyse::live_rows(view_, from, now_, seconds);
  sums_ = analyse::totals_of(from, now_, seconds);
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](const live_row& a, const live_row& b) { return a.values[sort_by_] > b.values[sort_by_]; });
  if (!filter_.empty()) std::erase_if(rows_, [&](const live_row& each) { return !passes(each); });
  first_ = std::min(first_, rows_.empty() ? 0 : rows_.size() - 1);
}

const std::string& top_state::name_of(const live_row& row) {
  std::string& name = names_[row.site];
  if (!name.empty()) return name;
  const std::vector<analyse::place> stack = analyse::stack_at(now_, row.site, *symbols_);
  name = stack.empty() ? "sites beyond the recorder's limit"
                       : printable(place_words(stack[analyse::own_place(stack)], 200));
  return name;
}

bool top_state::passes(const live_row& row) {
  return contains(row.what, filter_) || contains(row.category, filter_) ||
         (view_ != live_view::threads && contains(name_of(row), filter_));
}

bool top_state::press(int pressed, int page) {
  if (types_) {
    if (pressed == enter) types_ = false;
    if (pressed == escape) filter_.clear(), types_ = false;
    if (pressed == erase && !filter_.empty()) filter_.pop_back();
    if (pressed >= 0x20 && pressed < 0x7f && filter_.size() < 40) filter_ += static_cast<char>(pressed);
    first_ = 0;
    sort();
    return true;
  }
  const auto move = [&](long by) {
    const long last = rows_.empty() ? 0 : static_cast<long>(rows_.size()) - 1;
    first_ = static_cast<std::size_t>(std::clamp(static_cast<long>(first_) + by, 0L, last));
  };
  const auto show = [&](std::size_t view) {
    view_ = analyse::live_views[view % analyse::live_views.size()];
    sort_by_ = first_ = 0;
  };
  const std::size_t columns = analyse::columns_of(view_).size();
  switch (pressed) {
    case 'q': quits_ = true; return true;
    case '1':
    case '2':
    case '3':
    case '4': show(static_cast<std::size_t>(pressed - '1')); break;
    case '\t': show(static_cast<std::size_t>(view_) + 1); break;
    case 's':
    case right: sort_by_ = (sort_by_ + 1) % columns; break;
    case 'S':
    case left: sort_by_ = (sort_by_ + columns - 1) % columns; break;
    case 't': totals_ = !totals_; break;
    case 'p':
    case ' ': paused_ = !paused_; return true;
    case '/':
      types_ = true;
      filter_.clear();
      break;
    case escape:
      filter_.clear();
      helps_ = false;
      break;
    case 'h':
    case '?': helps_ = !helps_; return true;
    case 'k':
    case up: move(-1); return true;
    case 'j':
    case down: move(1); return true;
    case page_up: move(-page); return true;
    case page_down: move(page); return true;
    default: return false;
  }
  sort();
  return true;
}

std::vector<std::string> top_state::head(int columns) const {
  const auto width = static_cast<std::size_t>(columns);
  const std::string state = !process_.runs ? "ended" : paused_ ? "paused" : "";
  const std::string per = totals_ ? "" : "/s";
  std::string facts = process_.runs ? fmt::format("{} threads, {} resident", process_.threads,
                                                  bytes_words(static_cast<double>(process_.resident)))
                                    : fmt::format("{} threads were seen", now_.threads.size());
  if (!state.empty()) facts = "[" + state + "] " + facts;
  const double frees = std::max(sums_.frees, 1e-9);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}  {}", facts, printable(title_)));
  lines.push_back(fmt::format(
      "heap {0}{7} {1}{7}, {2:.1f} % foreign, {3} in use   locks {4} ms{7}   calls {5}{7} {6} ms{7}",
      short_number(sums_.allocations), short_bytes(sums_.bytes), 100 * sums_.foreign_frees / frees,
      grouped(sums_.in_use), short_number(sums_.wait_ms), short_number(sums_.calls), short_number(sums_.call_ms), per));
  std::string shares;
  double of_all = 0;
  for (const double each : sums_.by_category) of_all += each;
  for (std::size_t at = 0; at < sums_.by_category.size(); ++at) {
    shares += fmt::format("{}{} {:.1f} %", at == 0 ? "" : "   ", analyse::name(static_cast<analyse::category>(at)),
                          of_all > 0 ? 100 * sums_.by_category[at] / of_all : 0.0);
  }
  lines.push_back(shares);
  std::string tabs;
  for (std::size_t at = 0; at < analyse::live_views.size(); ++at) {
    const live_view each = analyse::live_views[at];
    tabs += fmt::format(fmt::runtime(each == view_ ? "[{} {}] " : " {} {}  "), at + 1, analyse::name(each));
  }
  tabs += fmt::format("  by {}", title_of(analyse::columns_of(view_)[sort_by_], totals_));
  if (types_ || !filter_.empty()) tabs += fmt::format("   filter: {}{}", filter_, types_ ? "_" : "");
  lines.push_back(tabs);
  for (std::string& each : lines) each = cut(each, width);
  return lines;
}

std::string top_state::titles(int columns) const {
  std::string line;
  for (const live_column& each : analyse::columns_of(view_))
    line += fmt::format("{:>{}}", title_of(each, totals_), width_of(each));
  line += view_ == live_view::threads ? "  thread" : fmt::format("  {:<{}}where", "category", category_width);
  return cut(line, static_cast<std::size_t>(columns));
}

std::vector<std::string> top_state::table(int lines, int columns) {
  std::vector<std::string> made;
  if (helps_) {
    made = {"1 2 3 4, Tab   threads, sites, locks, calls",
            "s S, arrows    sort by the next, the last column",
            "/              show only what has some letters in it; Esc: all",
            "t              totals since the start, or rates",
            "p, space       pause",
            "j k, PgUp PgDn move",
            "q              quit",
            "?              this"};
    made.resize(std::min(made.size(), static_cast<std::size_t>(std::max(lines, 0))));
    return made;
  }
  const std::span<const live_column> shown = analyse::columns_of(view_);
  for (std::size_t at = first_; at < rows_.size() && made.size() < static_cast<std::size_t>(std::max(lines, 0)); ++at) {
    const live_row& row = rows_[at];
    std::string line;
    for (std::size_t column = 0; column < shown.size(); ++column) {
      line += fmt::format("{:>{}}", number_words(row.values[column], shown[column]), width_of(shown[column]));
    }
    if (view_ == live_view::threads) {
      line += "  " + printable(row.what);
    } else {
      line += fmt::format("  {:<{}}", row.category, category_width);
      if (!row.what.empty()) line += row.what + " ";
      line += name_of(row);
    }
    made.push_back(cut(line, static_cast<std::size_t>(columns)));
  }
  return made;
}

std::string top_state::foot(int columns) const {
  return cut("q quit  1-4 view  s sort  / filter  t totals  p pause  ? help", static_cast<std::size_t>(columns));
}

}  // namespace tarn::command
