// Watches the threads of a running process that waited already when its recording began.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/cpu/stack_samples.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::command {

// Knows the threads that wait for a word in memory (a futex), and that have not run since. The C library keeps in a
// mutex which thread has it, so a thread that waits for one leads to another thread. A process that hangs is read
// without a change: by /proc/PID/task/TID/syscall and its memory.
class lasting_wait_watch {
 public:
  // Finds the threads that wait now. A thread that runs may be on its way back into its wait, after `tarn record` has
  // stopped it: so it is looked at again for some milliseconds. `image` is the one that runs.
  lasting_wait_watch(pid_t process, std::uint32_t image);

  // Sets in `recording` the waits that have not ended, and what their holders do. A wait of which the recorder itself
  // has told is not one of them. A process that is killed ends all of them: so unless it is the last look at one that
  // goes on, nothing changes until the next one where a wait seems to have ended.
  void look(format::recording& recording, bool is_last = false);

 private:
  struct waiting_thread {
    std::uint32_t id = 0, own_number = 0;  // in /proc, and for the process itself
    std::string call, schedules;           // when it was found
    std::uint32_t stack = 0;
    bool has_stack = false;
  };
  bool add_if_waiting(std::uint32_t thread);
  bool is_waiting_still(const waiting_thread& thread) const;
  format::lasting_wait wait_of(waiting_thread& thread);
  void add_holders(std::vector<format::lasting_wait>& waits);
  std::uint32_t stack_of(std::uint32_t thread);

  pid_t process_;
  std::uint32_t image_;
  std::vector<waiting_thread> threads_;
  cpu::stack_samples stacks_;
  bool has_mappings_ = false, is_in_doubt_ = false;
};

}  // namespace tarn::command
