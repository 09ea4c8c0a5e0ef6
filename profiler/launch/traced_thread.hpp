// Stops a thread of another process, and has it call functions.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/launch/answer_patience.hpp"
#include "profiler/launch/injected_code.hpp"
#include "profiler/launch/remote_process.hpp"

namespace tarn::command {

// Returns the state of a thread as ps(1) names it (S, R, D, Z …); 0 if there is no such thread.
char state_of_thread(pid_t process, pid_t thread);

// Returns true for a thread that the kernel runs alone, for io_uring or vhost: it has no code of the program to go back
// to.
bool is_of_kernel(pid_t process, pid_t thread);

std::vector<pid_t> threads_of(pid_t process);

// Returns true if the stop of a thread with these registers has ended its system call by EINTR.
bool is_ended_call(const user_regs_struct& registers);

// Stops a thread while this object lives, and then resumes it with its registers, its signal mask and the system call
// that it waited in. So does a failure that is thrown here, and the death of this process: the thread then goes on by
// itself.
class traced_thread {
 public:
  // Throws a failure where the thread cannot be traced; is_stopped() is false if it has ended.
  traced_thread(const remote_process& process, pid_t thread);
  traced_thread(const traced_thread&) = delete;
  traced_thread& operator=(const traced_thread&) = delete;
  ~traced_thread();

  pid_t number() const { return thread_; }
  bool is_stopped() const { return is_stopped_; }
  // Returns the registers that it was stopped with.
  const user_regs_struct& registers() const { return before_; }
  // Returns whether the C library has started it, so that the data that its functions keep for a thread is this one's.
  // In a process that the program has made by a system call, the first thread has its parent's number there.
  bool has_descriptor() const;
  // Returns the signals that it blocks.
  std::uint64_t signal_mask() const;

  // Prepares the thread for calls by the code at that place: its registers and its signal mask are saved, all signals
  // but one and those of faults wait, and a higher priority than all usual ones may be given to it. Returns the address
  // of `scratch_bytes` of new memory, which the calls may use, or an errno as its negative.
  std::int64_t begin_calls(const injected_code& code, std::size_t scratch_bytes);
  // Makes a system call in the thread. Returns its result, or an errno as its negative.
  std::int64_t system_call(std::uint64_t number, std::span<const std::uint64_t> arguments);
  // Calls a function on a stack at the end of the scratch memory. Throws a failure if it does not return in time; the
  // thread then goes on by itself when it returns.
  std::uint64_t call(remote_address function, std::span<const std::uint64_t> arguments);

 private:
  enum class stop { event, signal, end };
  stop wait_for_stop(answer_patience& patience);
  void go_on(int signal = 0);
  // Resumes the thread for the last time, with the signal or 0, and sends it those that were held back.
  void release(int signal = 0);
  // Returns whether the signal that has arrived is of a fault of the thread itself.
  bool is_fault() const;
  // Resumes the thread until it has stopped before the `instruction`. Returns its registers then.
  user_regs_struct run_to(remote_address instruction);
  void set(const user_regs_struct& registers);
  user_regs_struct get() const;
  // Returns registers that begin a call.
  user_regs_struct call_registers(remote_address instruction) const;
  // Also writes where the process itself may only read.
  void write_code(remote_address address, std::span<const std::uint64_t> content);
  void save_vectors();
  // Has a thread that is in a restartable sequence (rseq) go back to that sequence's code for an abort, as the kernel
  // does. It would not, where the thread stands at other code meanwhile.
  void abort_sequence();
  void raise_priority() const;
  void reset_priority() const;
  void restore();

  const remote_process& process_;
  pid_t thread_;
  injected_code code_{0};
  bool is_stopped_ = false, is_calling_ = false, is_hurried_ = false;
  int arrived_signal_ = 0;  // the signal of the last stop::signal, which the thread gets when it is resumed with it
  int stop_signal_ = 0;     // by which the injected code stops
  std::uint64_t held_signals_ = 0;  // those that have come during a call, and are sent again at the end
  user_regs_struct before_{};
  std::uint64_t mask_before_ = 0;
  remote_address scratch_ = ~remote_address{0};  // an error, as mmap returns it, until it is mapped
  remote_address vectors_ = 0;                   // 0: the vector registers are not saved yet
  std::size_t scratch_bytes_ = 0;
};

}  // namespace tarn::command
