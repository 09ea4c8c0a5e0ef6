// Stops a thread of another process, and has it call functions.
#pragma once

#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// The thread is stopped while this object lives, and then goes on as it was: its registers, its signal mask and the
// system call that it waited in. A failure that is thrown here leaves it as it was, too.
class traced_thread {
 public:
  // `call_instruction` is the address of a `syscall` in the process. Throws a failure where the thread cannot be
  // traced; `stopped` is false if it has ended.
  traced_thread(const remote_process& process, pid_t thread, remote_address call_instruction);
  traced_thread(const traced_thread&) = delete;
  traced_thread& operator=(const traced_thread&) = delete;
  ~traced_thread();

  bool is_stopped() const { return is_stopped_; }
  // Returns the registers that it was stopped with.
  const user_regs_struct& registers() const { return before_; }

  // Prepares the thread for calls: its registers and its signal mask are saved, and signals wait.
  void begin_calls();
  // Makes a system call in the thread. Returns its result, or an errno as its negative.
  std::int64_t system_call(std::uint64_t number, std::span<const std::uint64_t> arguments);
  // Calls a function on the stack that ends at `stack_end`. Throws a failure if it does not return in time.
  std::uint64_t call(remote_address function, std::span<const std::uint64_t> arguments, remote_address stack_end);

 private:
  enum class stop { call, event, signal, end };
  stop wait_for_stop(std::chrono::steady_clock::time_point until);
  void go_on(bool to_system_call, int signal = 0);
  stop run_to_stop(bool to_system_call, std::chrono::steady_clock::time_point until);
  void set(const user_regs_struct& registers);
  user_regs_struct get() const;
  void restore();

  const remote_process& process_;
  pid_t thread_;
  remote_address call_instruction_;
  bool is_stopped_ = false, is_calling_ = false;
  int arrived_signal_ = 0;  // the one of the last stop::signal, which the thread gets when it goes on with it
  user_regs_struct before_{};
  std::uint64_t mask_before_ = 0;
  std::vector<char> extended_before_;  // the vector registers
};

}  // namespace tarn::command
