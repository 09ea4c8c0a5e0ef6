#include "profiler/collect/recording_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace tarn::command {

std::string bounded_recording::path_of(std::size_t number) const {
  return bounds_.every.count() == 0 && number == 1 ? path_ : fmt::format("{}.{}", path_, number);
}

void bounded_recording::begin(const format::program_facts& facts) {
  recording_.begin(path_of(1), facts);
  begin_times();
  begun_ = file_begun_;
}

void bounded_recording::begin_late(const format::program_facts& facts) {
  recording_.begin_late(path_of(1), facts);
  begin_times();
  begun_ = file_begun_;
}

void bounded_recording::begin_times() {
  constexpr std::chrono::seconds worth_a_line{1};  // a clock that is kept right goes back by less
  file_begun_ = steady::now();
  is_told_ = false;
  const std::chrono::nanoseconds behind = times_.begin(std::chrono::system_clock::now().time_since_epoch());
  if (behind >= worth_a_line && !is_clock_back_ && listener_)
    fmt::print(stderr,
               "tarn: the clock went back by {} s; until it has caught up, a profile begins where the last one ended\n",
               std::chrono::ceil<std::chrono::seconds>(behind).count());
  is_clock_back_ = behind >= worth_a_line;
}

void bounded_recording::tell_of_last() {
  if (!listener_ || is_told_) return;
  if (!times_.has_ended()) times_.end(steady::now() - file_begun_);
  listener_(recording_.path(), times_.last());
  is_told_ = true;
}

bool bounded_recording::begin_next_file() {
  ++files_;
  begin_times();
  bool is_begun = true;
  try {
    if (is_paused_) {  // events since the end of the last file are in no file
      format::program_facts facts = recording_.now().program;
      facts.started = static_cast<std::uint64_t>(std::time(nullptr));
      recording_.begin_late(path_of(files_), facts);
    } else {
      recording_.begin_next(path_of(files_));
    }
  } catch (const std::system_error& error) {
    if (!has_said_failure_) fmt::print(stderr, "tarn: {}; neither may later files be written\n", error.what());
    has_said_failure_ = true;
    is_begun = false;
  }
  if (bounds_.keep == 0 || files_ <= bounds_.keep) return is_begun;
  std::error_code ignored;
  std::filesystem::remove(path_of(files_ - bounds_.keep), ignored);
  return is_begun;
}

void bounded_recording::pause() {
  end_early();
  tell_of_last();
  is_paused_ = true;
}

bool bounded_recording::resume() {
  is_paused_ = !begin_next_file();
  return !is_paused_;
}

void bounded_recording::write_changes() {
  if (is_paused_) return;
  if (bounds_.every.count() != 0 && steady::now() >= file_begun_ + bounds_.every) {
    end_early();
    tell_of_last();
    begin_next_file();
  } else if (steady::now() >= recording_.next_snapshot()) {
    recording_.write_changes();
  }
}

std::chrono::steady_clock::time_point bounded_recording::next() const {
  steady::time_point next = is_paused_ ? steady::now() + std::chrono::hours(1) : recording_.next_snapshot();
  if (bounds_.duration.count() != 0) next = std::min(next, begun_ + bounds_.duration);
  if (!is_paused_ && bounds_.every.count() != 0) next = std::min(next, file_begun_ + bounds_.every);
  return next;
}

void bounded_recording::end(const format::end_facts& end) {
  if (is_paused_) return;
  const format::end_facts of_file = recording_.of_file(end);
  recording_.write_changes(of_file);
  recording_.write_end(of_file);
  times_.end(steady::now() - file_begun_);
}

void bounded_recording::end_early() {
  if (is_paused_) return;
  prices_.get();  // which may take a while, before the file's last moment
  recording_.write_changes();
  recording_.write_end(recording_.so_far());
  times_.end(steady::now() - file_begun_);
  recording_.write_work(prices_);
  recording_.save_if_replaced();
}

}  // namespace tarn::command
