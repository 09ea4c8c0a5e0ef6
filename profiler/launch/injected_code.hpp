// The code that a thread of another process runs while it is led from outside (injected_code.S), and its address there.
#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>
#include <vector>

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// The beginning of the code, as injected_code.S has it.
struct injected_data {
  std::uint64_t mark;
  std::uint64_t thread;  // by its own number; 0: no thread runs the code
  std::uint64_t process, signal, blocked_signals, signal_mask, scratch_bytes, is_hurried, usual_priority;
  std::uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rcx, rdx, rsi, rdi, rsp, flags;
  // The thread goes on there: it repeats the system call that it was in, or finds it interrupted by a signal.
  std::uint64_t repeated_rax, repeated_rip, interrupted_rax, interrupted_rip;
};

// The addresses of the code's parts in the process.
struct injected_code {
  explicit injected_code(remote_address room);
  // Returns all words of the code, with this data.
  static std::vector<std::uint64_t> content_with(const injected_data& data);
  bool has(remote_address address) const { return address >= begin && address < end; }

  remote_address begin;
  remote_address start;        // blocks the signals and maps the scratch memory
  remote_address system_call;  // makes a system call
  remote_address after_call;   // where a function returns to
  remote_address first_stop;   // where the thread stops after each of these, with the result in rbx
  remote_address last_stop;    // where it stops before it goes back, with priority, mask and registers left to restore
  remote_address end;
};

// Sets the registers to which the thread goes back.
void set_registers(injected_data& data, const user_regs_struct& registers);
// Returns registers that repeat the system call that these are in.
user_regs_struct repeated_call(const user_regs_struct& registers);

// Returns room for the code: behind the code of a file, up to the end of the page, where nothing is. Waits until the
// thread has gone back that a `tarn record` led there which was killed. Throws a failure if there is no room, or if
// the thread does not go back.
injected_code find_room_for_code(const remote_process& process);

}  // namespace tarn::command
