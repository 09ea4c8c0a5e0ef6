// Reads where a thread of another process waits, without stopping it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tarn::cpu {

// The registers that the kernel shows of a thread that waits, and the lowest part of its stack.
struct waiting_thread {
  std::uint64_t stack = 0, address = 0;  // both 0 if the thread runs, or may not be read
  std::vector<std::byte> bytes;          // from `stack` up
  std::string schedules;                 // how often and how long it had run before
};

// Returns it by /proc/PID/task/TID/syscall and /proc/PID/mem, with `bytes` of the stack at most.
waiting_thread read_waiting_thread(pid_t process, pid_t thread, std::size_t bytes);

// Returns the line of /proc/PID/task/TID/syscall: of a thread that waits in a system call its number and arguments, the
// stack pointer and the address of the next instruction. Empty if it may not be read.
std::string call_line_of(pid_t process, pid_t thread);

// Returns how often and how long a thread has run (/proc/PID/task/TID/schedstat): another text, if it has run since.
std::string schedules_of(pid_t process, pid_t thread);

}  // namespace tarn::cpu
