#include "profiler/collect/recording_bounds.hpp"
#include "profiler/base/failure.hpp"

#include <fmt/chrono.h>
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
    print_error(
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

namespace {

// Returns the time since 1970 as text, in seconds.
std::string time_text(std::uint64_t time_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(time_ns / 1'000'000'000)));
}

}  // namespace

std::string bounded_recording::unsaved_text() const {
  const std::string files = unsaved_.first == unsaved_.last
                                ? path_of(unsaved_.first) + " was"
                                : fmt::format("{} to {} were", path_of(unsaved_.first), path_of(unsaved_.last));
  return fmt::format("{} not saved, from {} to {} UTC", files, time_text(unsaved_.time.from_ns),
                     time_text(unsaved_.time.until_ns));
}

void bounded_recording::tell_failure() {
  if (recording_.write_failure().empty()) {
    if (!is_failure_told_) return;
    print_error("tarn: {} is written again; {}\n", recording_.path(),
                unsaved_.first == 0 ? "nothing is missing" : unsaved_text());
    is_failure_told_ = false;
    unsaved_ = {};
    has_told_recovery_ = true;
  } else if (!is_failure_told_ && !has_told_recovery_) {
    print_error("tarn: {}; trying again\n", recording_.write_failure());
    is_failure_told_ = true;
  }
}

void bounded_recording::settle() {
  if (is_paused_ || is_settled_ || bounds_.every.count() == 0) return;
  is_settled_ = true;
  if (!recording_.complete()) {
    has_told_recovery_ = false;  // no file may be missing without a line
    tell_failure();
    recording_.discard();
    if (unsaved_.first == 0) unsaved_ = {files_, files_, times_.last()};
    unsaved_.last = files_;
    unsaved_.time.until_ns = times_.last().until_ns;
    is_told_ = true;  // the listener gets files that can be read
    return;
  }
  tell_failure();
  saved_.push_back(files_);
}

void bounded_recording::finish() {
  settle();
  if (unsaved_.first != 0) print_error("tarn: {}\n", unsaved_text());
  unsaved_ = {};
}

bool bounded_recording::begin_next_file() {
  while (bounds_.keep != 0 && saved_.size() >= bounds_.keep) {
    std::error_code ignored;
    std::filesystem::remove(path_of(saved_.front()), ignored);
    saved_.pop_front();
  }
  ++files_;
  begin_times();
  is_settled_ = has_told_recovery_ = false;
  try {
    if (is_paused_) {  // events since the end of the last file are in no file
      format::program_facts facts = recording_.now().program;
      facts.started = static_cast<std::uint64_t>(std::time(nullptr));
      recording_.begin_late(path_of(files_), facts);
    } else {
      recording_.begin_next(path_of(files_));
    }
  } catch (const std::system_error& error) {
    if (is_paused_) {
      print_error("tarn: {}; the recording stays stopped\n", error.what());
    } else {
      tell_failure();
    }
    return false;
  }
  return true;
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
    if (bounds_.every.count() != 0) tell_failure();
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
  settle();
  recording_.save_if_replaced();
}

}  // namespace tarn::command
