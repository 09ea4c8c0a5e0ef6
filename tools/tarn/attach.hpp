// A region that another `tarn record` made, found by a process.
#pragma once

#include <sys/types.h>

#include <string>

namespace tarn::command {

struct recorded_process {
  std::string region;  // path of the region in which it counts
  pid_t process = 0;   // the program
};

// `process`: a recorded program, one of its recorded children, or the `tarn record` itself. An empty path where it is
// not recorded, or of somebody else. Throws a usage failure where there is no such process, or it is a child that is
// not recorded.
recorded_process find_recorded(pid_t process);

// The region of the program that `recorder` records, once that has begun; else an empty path.
recorded_process find_recorded_by(pid_t recorder);

}  // namespace tarn::command
