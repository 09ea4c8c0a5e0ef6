#include "profiler/top/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "profiler/report/values.hpp"
#include "profiler/top/numbers.hpp"

namespace tarn::command {
namespace {

using analyse::live_column;
using analyse::live_row;

int width_of(const live_column& column) {
  return std::max(8, static_cast<int>(std::string_view(column.title).size()) + 1);
}

std::string title_of(const live_column& column, bool shows_totals) {
  std::string title = column.title;
  if (shows_totals && title.ends_with("/s")) title.resize(title.size() - 2);
  return title;
}

bool contains(std::string_view text, std::string_view part) {
  const auto is_same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), is_same) != text.end();
}

}  // namespace

process_facts facts_of(pid_t process) {
  process_facts facts;
  std::ifstream file(fmt::format("/proc/{}/status", process));
  facts.is_running = static_cast<bool>(file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name, value;
    fields >> name >> value;
    if (name == "State:" && (value == "Z" || value == "X")) facts.is_running = false;
    if (name == "VmRSS:") facts.resident = std::strtoull(value.c_str(), nullptr, 10) * 1024;
    if (name == "Threads:") facts.threads = std::strtoull(value.c_str(), nullptr, 10);
  }
  return facts;
}

void top_state::look(double seconds, const process_facts& process) {
  if (process_.is_running && !process.is_running) shows_totals_ = true;  // nothing happens any more
  process_ = process;
  if (is_paused_) return;
  source_->look(seconds);
  sort();
}

void top_state::sort() {
  rows_ = source_->rows(view_, shows_totals_);
  const auto value = [&](const live_row& column) {
    const double value_known = column.values[sort_by_];
    return std::isnan(value_known) ? -1 : value_known;
  };
  std::stable_sort(rows_.begin(), rows_.end(),
                   [&](const live_row& a, const live_row& b) { return value(a) > value(b); });
  if (!filter_.empty()) {
    std::erase_if(rows_, [&](const live_row& row) { return !contains(source_->text_of(view_, row), filter_); });
  }
  first_ = std::min(first_, rows_.empty() ? 0 : rows_.size() - 1);
}

void top_state::show(std::size_t view) {
  view_ = view % source_->views().size();
  sort_by_ = first_ = 0;
}

bool top_state::press(int pressed, int page) {
  if (is_typing_) {
    if (pressed == enter) is_typing_ = false;
    if (pressed == escape) filter_.clear(), is_typing_ = false;
    if (pressed == erase && !filter_.empty()) filter_.pop_back();
    if (pressed >= 0x20 && pressed < 0x7f && filter_.size() < 40) filter_ += static_cast<char>(pressed);
    first_ = 0;
    sort();
    return true;
  }
  const auto move = [&](long rows_moved) {
    const long last = rows_.empty() ? 0 : static_cast<long>(rows_.size()) - 1;
    first_ = static_cast<std::size_t>(std::clamp(static_cast<long>(first_) + rows_moved, 0L, last));
  };
  const std::size_t columns = source_->columns(view_).size();
  switch (pressed) {
    case 'q': must_quit_ = true; return true;
    case '1':
    case '2':
    case '3':
    case '4':
      if (static_cast<std::size_t>(pressed - '1') >= source_->views().size()) return false;
      show(static_cast<std::size_t>(pressed - '1'));
      break;
    case '\t': show(view_ + 1); break;
    case 's':
    case right: sort_by_ = (sort_by_ + 1) % columns; break;
    case 'S':
    case left: sort_by_ = (sort_by_ + columns - 1) % columns; break;
    case 't': shows_totals_ = !shows_totals_; break;
    case 'p':
    case ' ': is_paused_ = !is_paused_; return true;
    case '/':
      is_typing_ = true;
      filter_.clear();
      break;
    case escape:
      filter_.clear();
      shows_help_ = false;
      break;
    case 'h':
    case '?': shows_help_ = !shows_help_; return true;
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
  const std::string state = !process_.is_running ? "ended" : is_paused_ ? "paused" : "";
  std::string facts = process_.is_running ? fmt::format("{}, {} resident", count_text(process_.threads, "thread"),
                                                        bytes_text(static_cast<double>(process_.resident)))
                                          : count_text(source_->threads_seen(), "thread") + " in all";
  if (!state.empty()) facts = "[" + state + "] " + facts;
  std::vector<std::string> lines = {fmt::format("{}  {}", facts, printable(title_))};
  for (std::string& text : source_->sums(shows_totals_, shows_totals_ ? "" : "/s")) lines.push_back(std::move(text));
  std::string tabs;
  const auto views = source_->views();
  for (std::size_t index = 0; index < views.size(); ++index) {
    tabs += fmt::format(fmt::runtime(index == view_ ? "[{}:{}] " : " {}:{}  "), index + 1, views[index]);
  }
  tabs += fmt::format("  by {}", title_of(source_->columns(view_)[sort_by_], shows_totals_));
  if (is_typing_ || !filter_.empty()) tabs += fmt::format("   filter: {}{}", filter_, is_typing_ ? "_" : "");
  lines.push_back(tabs);
  for (std::string& text : lines) text = cut(text, width);
  return lines;
}

std::string top_state::titles(int columns) const {
  std::string line;
  for (const live_column& column : source_->columns(view_))
    line += fmt::format("{:>{}}", title_of(column, shows_totals_), width_of(column));
  return cut(line + "  " + source_->last_title(view_), static_cast<std::size_t>(columns));
}

std::vector<std::string> top_state::table(int lines, int columns) {
  std::vector<std::string> lines_shown;
  if (shows_help_) {
    lines_shown = {"1 2 3 4, Tab   threads, sites, locks, calls",
                   "s S, arrows    sort by the next, the previous column",
                   "/              show only lines that contain a text; Esc shows all",
                   "t              switch between rates and totals since the start",
                   "p, space       pause",
                   "j k, PgUp PgDn scroll",
                   "q              quit",
                   "?              show or hide the keys"};
    lines_shown.resize(std::min(lines_shown.size(), static_cast<std::size_t>(std::max(lines, 0))));
    return lines_shown;
  }
  const std::span<const live_column> view_columns = source_->columns(view_);
  for (std::size_t index = first_;
       index < rows_.size() && lines_shown.size() < static_cast<std::size_t>(std::max(lines, 0)); ++index) {
    const live_row& row = rows_[index];
    std::string line;
    for (std::size_t column = 0; column < view_columns.size(); ++column) {
      line +=
          fmt::format("{:>{}}", number_text(row.values[column], view_columns[column]), width_of(view_columns[column]));
    }
    lines_shown.push_back(cut(line + "  " + source_->text_of(view_, row), static_cast<std::size_t>(columns)));
  }
  return lines_shown;
}

std::string top_state::foot(int columns) const {
  return cut(fmt::format("q quit  {}s sort  / filter  t totals  p pause  ? help",
                         source_->views().size() > 1 ? "1-4 view  " : ""),
             static_cast<std::size_t>(columns));
}

}  // namespace tarn::command
