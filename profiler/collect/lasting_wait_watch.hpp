// Watches the threads of a running process that waited already when its recording began.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
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
  };
  // What a thread waits for, with its stack.
  struct thread_wait {
    waiting_thread thread;
    format::lasting_wait wait;
    bool is_held_by_kernel = false;  // as in `awaited_object`
  };
  bool add_if_waiting(std::uint32_t thread);
  bool is_waiting_still(const waiting_thread& thread) const;
  thread_wait wait_of(const waiting_thread& thread, format::wait_start start);
  thread_wait wait_of_holder(std::uint32_t holder, std::uint32_t own_number);
  void add_holders(std::vector<thread_wait>& waits);
  format::ownership owner_of(const thread_wait& waiting, std::uint32_t holder) const;
  // Takes what was read as a lock for a mere word unless code for such locks waits for it.
  void check_code(std::vector<thread_wait>& waits, const format::lasting_waits& read);
  std::uint32_t stack_of(const waiting_thread& thread);
  std::string name_of(std::uint32_t thread) const;

  pid_t process_;
  std::uint32_t image_;
  std::vector<waiting_thread> threads_, interrupted_;
  std::string program_name_;
  std::map<std::string, std::uint32_t> thread_stacks_;  // by the number and the call of a thread
  std::map<std::uint32_t, format::awaited> code_;       // by stack: the locks for which its innermost code waits
  cpu::stack_samples stacks_;
  bool has_mappings_ = false, is_in_doubt_ = false;
};

}  // namespace tarn::command
