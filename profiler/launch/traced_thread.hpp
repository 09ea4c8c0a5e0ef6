// Stops a thread of another process, and has it call functions.
#pragma once

#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// Returns the state of a thread as ps(1) names it (S, R, D, Z …); 0 if there is no such thread.
char state_of_thread(pid_t process, pid_t thread);

// Addresses of instructions in the process, anywhere in its code.
struct remote_instructions {
  remote_address call;  // a `syscall`
  remote_address trap;  // an `int3`
};

// Stops a thread while this object lives, and then resumes it with its registers, its signal mask and the system call
// that it waited in. A failure that is thrown here also leaves the thread unchanged.
class traced_thread {
 public:
  // Throws a failure where the thread cannot be traced; is_stopped() is false if it has ended.
  traced_thread(const remote_process& process, pid_t thread, const remote_instructions& instructions);
  traced_thread(const traced_thread&) = delete;
  traced_thread& operator=(const traced_thread&) = delete;
  ~traced_thread();

  pid_t number() const { return thread_; }
  bool is_stopped() const { return is_stopped_; }
  // Returns the registers that it was stopped with.
  const user_regs_struct& registers() const { return before_; }

  // Prepares the thread for calls: its registers and its signal mask are saved, and all signals but SIGTRAP wait.
  void begin_calls();
  // Makes a system call in the thread. Returns its result, or an errno as its negative.
  std::int64_t system_call(std::uint64_t number, std::span<const std::uint64_t> arguments);
  // Calls a function on the stack that ends at `stack_end`. Throws a failure if it does not return in time.
  std::uint64_t call(remote_address function, std::span<const std::uint64_t> arguments, remote_address stack_end);

 private:
  enum class stop { call, event, signal, end };
  stop wait_for_stop(std::chrono::steady_clock::time_point until);
  void go_on(bool stops_at_call, int signal = 0);
  stop run_to_stop(bool stops_at_call, std::chrono::steady_clock::time_point until);
  void set(const user_regs_struct& registers);
  user_regs_struct get() const;
  // Returns whether the stop has ended a system call of the thread by EINTR.
  bool is_in_ended_call() const;
  void restore();
  // Keeps a SIGTRAP of others for the end; throws a failure where another signal has arrived.
  void keep_trap(const char* moment);
  void ignore_trap(remote_address stack_end);

  const remote_process& process_;
  pid_t thread_;
  remote_instructions instructions_;
  bool is_stopped_ = false, is_calling_ = false;
  bool ignores_trap_ = false;  // the program ignores SIGTRAP
  bool has_trap_ = false;      // a SIGTRAP that is not ours has come, and is sent again at the end
  int arrived_signal_ = 0;     // the signal of the last stop::signal, which the thread gets when it is resumed with it
  user_regs_struct before_{};
  std::uint64_t mask_before_ = 0;
  std::vector<char> extended_before_;  // the vector registers
};

}  // namespace tarn::command
