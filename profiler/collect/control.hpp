// Stops and starts a recording that another `tarn record` makes: `tarn record --pid PID start|stop`.
//
// The recorder has a pipe, which is named in the region. Another process writes a command into it, and finds the answer
// in the region.
#pragma once

#include <sys/types.h>

#include "profiler/collect/recording_bounds.hpp"
#include "profiler/collect/region_file.hpp"

namespace tarn::command {

enum class recording_command : char { no_command = 0, stop = 's', start = 'g' };

// The recorder's end of the pipe.
class recorder_control {
 public:
  // Lets commands reach this process through the region. Where there is no pipe, none come.
  explicit recorder_control(region_file& region);
  recorder_control(const recorder_control&) = delete;
  recorder_control& operator=(const recorder_control&) = delete;
  ~recorder_control();

  // Returns a descriptor for poll(2), which becomes readable when there is a command; negative if none can come.
  int descriptor() const { return read_end_; }
  // Returns the oldest command that is not answered yet.
  recording_command next() const;
  void answer(bool is_recording) { region_.answer_control(is_recording); }

 private:
  region_file& region_;
  int read_end_ = -1, write_end_ = -1;
};

// Carries out a command that has come for this recording.
void obey(recorder_control& control, bounded_recording& files, const process_recording& recording);

// Lets the recorder of `process`, which is a recorded program or the `tarn record` itself, stop or start, and returns
// once it has done so. Throws a failure where that cannot be.
void command_recorder(pid_t process, recording_command command);

}  // namespace tarn::command
