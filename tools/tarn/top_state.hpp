// What `tarn top` shows, and what its keys change; without a terminal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyse/live.hpp"
#include "analyse/symbols.hpp"
#include "format/recording.hpp"

namespace tarn::command {

struct process_facts {
  bool runs = true;
  std::uint64_t resident = 0;  // bytes
  std::uint64_t threads = 0;
};
process_facts facts_of(pid_t process);

class top_state {
 public:
  explicit top_state(std::string title) : title_(std::move(title)) {}

  // Another look, `seconds` after the one before: from the second one on there are rates. Paused, only of the process.
  // Once that has ended it shows totals.
  void look(const format::recording& now, double seconds, const process_facts& process);

  // A character, or one of those below. False: it means nothing here.
  enum key : int { up = 0x110000, down, page_up, page_down, left, right, enter, escape, erase };
  bool press(int pressed, int page);
  bool wants_to_quit() const { return quits_; }
  bool is_paused() const { return paused_; }

  // The lines above the table, the table's own, and the last one; each at most `columns` wide.
  std::vector<std::string> head(int columns) const;
  std::string titles(int columns) const;
  std::vector<std::string> table(int lines, int columns);
  std::string foot(int columns) const;

 private:
  void sort();
  const std::string& name_of(const analyse::live_row& row);
  bool passes(const analyse::live_row& row);

  std::string title_;
  format::recording now_, before_;
  double seconds_ = 1;
  process_facts process_;
  analyse::live_view view_ = analyse::live_view::sites;
  std::size_t sort_by_ = 0, first_ = 0;
  bool paused_ = false, totals_ = false, types_ = false, helps_ = false, quits_ = false;
  std::string filter_;
  std::vector<analyse::live_row> rows_;
  analyse::live_totals sums_;
  std::unique_ptr<analyse::symbols> symbols_;  // of now_, until there is a new module
  std::size_t modules_ = 0;
  std::map<std::uint32_t, std::string> names_;  // of sites
};

}  // namespace tarn::command
