// The content of `tarn top` and the effect of its keys, without a terminal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/top/source.hpp"

namespace tarn::command {

struct process_facts {
  bool is_running = true;
  std::uint64_t resident = 0;  // bytes
  std::uint64_t threads = 0;
};
process_facts facts_of(pid_t process);

class top_state {
 public:
  top_state(std::string title, std::unique_ptr<top_source> source)
      : title_(std::move(title)), source_(std::move(source)), view_(source_->first_view()) {}

  // Takes another snapshot, `seconds` after the previous one; while paused, of the process only. Shows totals once
  // the process has ended.
  void look(double seconds, const process_facts& process);

  // Handles a character, or one of the keys below. Returns false if it has no meaning here.
  enum key : int { up = 0x110000, down, page_up, page_down, left, right, enter, escape, erase };
  bool press(int pressed, int page);
  bool wants_to_quit() const { return must_quit_; }
  bool is_paused() const { return is_paused_; }

  // Return the lines above the table, the table's lines, and the last line; each has at most `columns` columns.
  std::vector<std::string> head(int columns) const;
  std::string titles(int columns) const;
  std::vector<std::string> table(int lines, int columns);
  std::string foot(int columns) const;

 private:
  void sort();
  void show(std::size_t view);

  std::string title_;
  std::unique_ptr<top_source> source_;
  process_facts process_;
  std::size_t view_, sort_by_ = 0, first_ = 0;
  bool is_paused_ = false, shows_totals_ = false, is_typing_ = false, shows_help_ = false, must_quit_ = false;
  std::string filter_;
  std::vector<analyse::live_row> rows_;
};

}  // namespace tarn::command
