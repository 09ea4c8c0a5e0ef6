// Bounds a recording in time and in files.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "profiler/collect/file_times.hpp"
#include "profiler/collect/process_recording.hpp"

namespace tarn::command {

struct recording_bounds {
  std::chrono::nanoseconds duration{};  // how long to record; 0: to the program's end
  std::chrono::nanoseconds every{};     // the time that one file covers; 0: one file for all
  std::size_t keep = 0;                 // how many of these files stay; 0: all
};

// Receives the path and the time of each file that has ended.
using file_listener = std::function<void(const std::string& path, const exports::time_range& time)>;

// Divides a recording into files: `path`, or `path`.1, `path`.2 … where each covers a part of the time. After a pause
// the next file begins, `path`.2 if there was one file. A file has the events of its time and can be read by itself.
//
// Of several files, each is whole or is not there: where one cannot be written, it is tried again until its time is
// over. One line says that this begins, and one that it is over, and which files were not saved.
class bounded_recording {
 public:
  bounded_recording(process_recording& recording, recorder_prices& prices, std::string path,
                    const recording_bounds& bounds)
      : recording_(recording), prices_(prices), path_(std::move(path)), bounds_(bounds) {
    if (bounds.every.count() != 0) recording.try_again();
  }

  // Replaces the first file. Throws std::system_error when it cannot be made.
  void begin(const format::program_facts& facts);
  // Replaces the first file of a process that runs already.
  void begin_late(const format::program_facts& facts);
  // Ends the file, and writes nothing until resume().
  void pause();
  // Begins the next file. Returns whether that can be written.
  bool resume();
  bool is_paused() const { return is_paused_; }
  // Writes the changes if that is due, and begins the next file if the time of this one is over.
  void write_changes();
  // Returns whether the time of the recording is over.
  bool is_over() const { return bounds_.duration.count() != 0 && steady::now() >= begun_ + bounds_.duration; }
  // Returns when to call write_changes() or is_over() again.
  std::chrono::steady_clock::time_point next() const;
  // Writes the end of the last file, without the cost of recording. `end` is that of the whole program.
  void end(const format::end_facts& end);
  // Ends the last file before the program ends.
  void end_early();
  // Ends all: tries the last file again if that is needed, and says which of the last files were not saved. Call it
  // when nothing more belongs to the last file.
  void finish();
  // The listener learns of a file before the next one begins, at a pause, or by tell_of_last(), once each.
  void set_listener(file_listener listener) { listener_ = std::move(listener); }
  void tell_of_last();

 private:
  using steady = std::chrono::steady_clock;
  std::string path_of(std::size_t number) const;
  bool begin_next_file();
  void begin_times();
  // Decides whether the file that has ended is saved or not.
  void settle();
  // Says whether files can be written, where that has changed.
  void tell_failure();
  std::string unsaved_text() const;

  process_recording& recording_;
  recorder_prices& prices_;
  std::string path_;
  recording_bounds bounds_;
  steady::time_point begun_{}, file_begun_{};
  std::size_t files_ = 1;
  bool is_paused_ = false;
  struct unsaved_files {
    std::size_t first = 0, last = 0;  // 0: none
    exports::time_range time;
  };
  unsaved_files unsaved_;           // those of which no line has told
  std::deque<std::size_t> saved_;   // the files that have ended
  bool is_settled_ = false;         // the current file is saved or given up
  bool is_failure_told_ = false;    // the last line said that a file cannot be written
  bool has_told_recovery_ = false;  // a line said that the current file is written again
  file_times times_;
  bool is_clock_back_ = false;
  bool is_told_ = false;  // the listener knows of the file
  file_listener listener_;
};

}  // namespace tarn::command
