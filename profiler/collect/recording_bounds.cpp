#include "profiler/collect/recording_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace tarn::command {

std::string bounded_recording::path_of(std::size_t number) const {
  return bounds_.every.count() == 0 ? path_ : fmt::format("{}.{}", path_, number);
}

void bounded_recording::begin(const format::program_facts& facts) {
  recording_.begin(path_of(1), facts);
  begun_ = file_begun_ = steady::now();
}

void bounded_recording::begin_late(const format::program_facts& facts) {
  recording_.begin_late(path_of(1), facts);
  begun_ = file_begun_ = steady::now();
}

void bounded_recording::begin_next_file() {
  end_early();
  ++files_;
  file_begun_ = steady::now();
  try {
    recording_.begin_next(path_of(files_));
  } catch (const std::system_error& error) {
    fmt::print(stderr, "tarn: {}\n", error.what());
  }
  if (bounds_.keep == 0 || files_ <= bounds_.keep) return;
  std::error_code ignored;
  std::filesystem::remove(path_of(files_ - bounds_.keep), ignored);
}

void bounded_recording::write_changes() {
  if (bounds_.every.count() != 0 && steady::now() >= file_begun_ + bounds_.every) {
    begin_next_file();
  } else if (steady::now() >= recording_.next_snapshot()) {
    recording_.write_changes();
  }
}

std::chrono::steady_clock::time_point bounded_recording::next() const {
  steady::time_point next = recording_.next_snapshot();
  if (bounds_.duration.count() != 0) next = std::min(next, begun_ + bounds_.duration);
  if (bounds_.every.count() != 0) next = std::min(next, file_begun_ + bounds_.every);
  return next;
}

void bounded_recording::end(const format::end_facts& end) {
  const format::end_facts of_file = recording_.of_file(end);
  recording_.write_changes(of_file);
  recording_.write_end(of_file);
}

void bounded_recording::end_early() {
  recording_.write_changes();
  recording_.write_end(recording_.so_far());
}

}  // namespace tarn::command
