// Finds the region of a process that another `tarn record` records.
#pragma once

#include <sys/types.h>

#include <string>

namespace tarn::command {

struct recorded_process {
  std::string region;  // path of the region that the process counts in
  pid_t process = 0;   // the recorded program
};

// Finds the region of `process`: a recorded program, one of its recorded children, or the `tarn record` itself. The
// path is empty where the process is not recorded, or belongs to another user. Throws a failure where there is
// no such process, or where it is a child that is not recorded.
recorded_process find_recorded(pid_t process);

// Returns the path of the region that `process` counts in, also before it has counted anything, or that of the program
// that it records; empty where there is none.
std::string find_region(pid_t process);

// Returns the region of the program that `recorder` records; the path is empty until that program has begun to count.
recorded_process find_recorded_by(pid_t recorder);

}  // namespace tarn::command
