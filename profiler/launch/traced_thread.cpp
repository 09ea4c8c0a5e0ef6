#include "profiler/launch/traced_thread.hpp"

#if defined(__x86_64__)
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include "profiler/base/failure.hpp"
#include "profiler/launch/access.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;
constexpr std::chrono::seconds call_time{5};
constexpr int call_stop = SIGTRAP | 0x80;

template <class Data>
long trace(__ptrace_request request, pid_t thread, std::uint64_t address, Data data) {
  return ::ptrace(request, thread, reinterpret_cast<void*>(address), data);
}

[[noreturn]] void fail_ended(pid_t process) { fail(exit_code::io_error, "process {} ended meanwhile", process); }

bool has_ended(pid_t process, pid_t thread) {
  const char state = state_of_thread(process, thread);
  return state == 'Z' || state == 'X' || state == '\0';
}

struct signal_sets {
  std::uint64_t pending = 0, blocked = 0, ignored = 0;
};
signal_sets signals_of(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", process, thread));
  signal_sets sets;
  for (std::string line; std::getline(file, line);) {
    const auto set = [&] { return std::stoull(line.substr(7), nullptr, 16); };
    if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) sets.pending |= set();
    if (line.starts_with("SigBlk:")) sets.blocked = set();
    if (line.starts_with("SigIgn:")) sets.ignored = set();
  }
  return sets;
}

// Returns true if a signal is pending that the thread does not block. Its handler must see the call interrupted.
bool has_pending_signal(pid_t process, pid_t thread) {
  const signal_sets sets = signals_of(process, thread);
  return (sets.pending & ~sets.blocked) != 0;
}

constexpr std::uint64_t trap_bit = std::uint64_t{1} << (SIGTRAP - 1);

}  // namespace

char state_of_thread(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '\0' : line[name_end + 2];
}

traced_thread::traced_thread(const remote_process& process, pid_t thread, const remote_instructions& instructions)
    : process_(process), thread_(thread), instructions_(instructions) {
  if (trace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) != 0) {
    const int problem = errno;
    // The kernel also forbids to trace a thread that has just ended.
    if (problem == ESRCH || ::kill(process.number(), 0) != 0 || has_ended(process.number(), thread)) return;
    fail_untraceable(process.number(), problem);
  }
  trace(PTRACE_INTERRUPT, thread, 0, nullptr);
  const auto until = steady::now() + call_time;
  for (;;) {
    const stop reason = wait_for_stop(until);
    if (!is_stopped_) return;
    if (reason == stop::event) break;
    go_on(false, reason == stop::signal ? arrived_signal_ : 0);
  }
  before_ = get();
}

traced_thread::~traced_thread() {
  if (!is_stopped_) return;
  if (is_calling_) restore();
  if (!is_stopped_) return;
  // The kernel repeats most calls that were interrupted. It would end the others with EINTR, though no signal has come.
  if (is_in_ended_call() && !has_pending_signal(process_.number(), thread_)) {
    user_regs_struct repeated_call = before_;
    repeated_call.rip -= 2;
    repeated_call.rax = repeated_call.orig_rax;
    repeated_call.orig_rax = ~std::uint64_t{0};
    trace(PTRACE_SETREGS, thread_, 0, &repeated_call);
  }
  trace(PTRACE_DETACH, thread_, 0, nullptr);
  if (has_trap_) ::syscall(SYS_tgkill, process_.number(), thread_, SIGTRAP);
}

// close() has closed its file even if it ends so.
bool traced_thread::is_in_ended_call() const {
  const auto number = static_cast<std::int64_t>(before_.orig_rax);
  return number >= 0 && number != SYS_close && static_cast<std::int64_t>(before_.rax) == -EINTR;
}

// Sets is_stopped_ to false where the thread has ended.
traced_thread::stop traced_thread::wait_for_stop(steady::time_point until) {
  is_stopped_ = false;
  for (;;) {
    int status = 0;
    const pid_t waited = ::waitpid(thread_, &status, __WALL | WNOHANG);
    if (waited == thread_) {
      if (!WIFSTOPPED(status)) return stop::end;
      is_stopped_ = true;
      if (WSTOPSIG(status) == call_stop) return stop::call;
      if (status >> 16 == PTRACE_EVENT_STOP) return stop::event;
      arrived_signal_ = WSTOPSIG(status);
      return stop::signal;
    }
    if (waited < 0 && errno != EINTR) return stop::end;
    if (steady::now() >= until) {
      // Stops it wherever it is, so that its registers can be restored.
      trace(PTRACE_INTERRUPT, thread_, 0, nullptr);
      for (int tries = 0; tries < 1000 && ::waitpid(thread_, &status, __WALL | WNOHANG) == 0; ++tries) ::usleep(1000);
      is_stopped_ = WIFSTOPPED(status);
      fail(exit_code::io_error,
           "process {} did not answer in time: its thread {}, in which the recorder works, waits for a processor, or "
           "for a lock of the loader that another thread has (dlopen, dl_iterate_phdr); try again, or start it with "
           "tarn record",
           process_.number(), thread_);
    }
    ::usleep(20);
  }
}

void traced_thread::go_on(bool stops_at_call, int signal) {
  trace(stops_at_call ? PTRACE_SYSCALL : PTRACE_CONT, thread_, 0, static_cast<std::intptr_t>(signal));
}

void traced_thread::set(const user_regs_struct& registers) {
  user_regs_struct copy = registers;
  if (trace(PTRACE_SETREGS, thread_, 0, &copy) != 0) fail_ended(process_.number());
}
user_regs_struct traced_thread::get() const {
  user_regs_struct registers{};
  if (trace(PTRACE_GETREGS, thread_, 0, &registers) != 0) fail_ended(process_.number());
  return registers;
}

void traced_thread::begin_calls() {
  extended_before_.resize(64 * 1024);
  iovec area{extended_before_.data(), extended_before_.size()};
  if (trace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, &area) != 0) fail_ended(process_.number());
  extended_before_.resize(area.iov_len);
  // The kernel resets the program's handler of a signal that an instruction raises while it is blocked.
  const std::uint64_t all_but_trap = ~trap_bit;
  ignores_trap_ = (signals_of(process_.number(), thread_).ignored & trap_bit) != 0;
  if (trace(PTRACE_GETSIGMASK, thread_, sizeof mask_before_, &mask_before_) != 0 ||
      trace(PTRACE_SETSIGMASK, thread_, sizeof all_but_trap, &all_but_trap) != 0)
    fail_ended(process_.number());
  is_calling_ = true;
}

// Resumes the thread until its next stop. A stop of the whole process (SIGSTOP) is kept for later.
traced_thread::stop traced_thread::run_to_stop(bool stops_at_call, steady::time_point until) {
  for (;;) {
    go_on(stops_at_call);
    const stop reason = wait_for_stop(until);
    if (!is_stopped_) fail_ended(process_.number());
    if (reason != stop::event || !stops_at_call) return reason;
  }
}

std::int64_t traced_thread::system_call(std::uint64_t number, std::span<const std::uint64_t> arguments) {
  user_regs_struct registers = before_;
  std::array<std::uint64_t, 6> values{};
  for (std::size_t index = 0; index < arguments.size(); ++index) values[index] = arguments[index];
  registers.rip = instructions_.call;
  registers.rax = number;
  registers.orig_rax = ~std::uint64_t{0};
  registers.rdi = values[0], registers.rsi = values[1], registers.rdx = values[2];
  registers.r10 = values[3], registers.r8 = values[4], registers.r9 = values[5];
  set(registers);
  const auto until = steady::now() + call_time;
  for (int stops = 0; stops < 2;) {  // before the call and after it
    const stop reason = run_to_stop(true, until);
    if (reason == stop::signal) {
      keep_trap("in a system call");
    } else {
      ++stops;
    }
  }
  return static_cast<std::int64_t>(get().rax);
}

std::uint64_t traced_thread::call(remote_address function, std::span<const std::uint64_t> arguments,
                                  remote_address stack_end) {
  constexpr std::uint64_t direction_flag = 0x400;
  user_regs_struct registers = before_;
  std::array<std::uint64_t, 3> values{};
  for (std::size_t index = 0; index < arguments.size(); ++index) values[index] = arguments[index];
  registers.rip = function;
  registers.rsp = stack_end - 8;
  registers.rax = 0;
  registers.rbp = 0;
  registers.eflags &= ~direction_flag;
  registers.orig_rax = ~std::uint64_t{0};
  registers.rdi = values[0], registers.rsi = values[1], registers.rdx = values[2];
  if (!process_.write(registers.rsp, &instructions_.trap, sizeof instructions_.trap)) fail_ended(process_.number());
  set(registers);
  // The function returns to an instruction that raises SIGTRAP, which the thread never gets. So it stops once, however
  // many system calls the function makes.
  const auto until = steady::now() + call_time;
  for (;;) {
    const stop reason = run_to_stop(false, until);
    if (reason != stop::signal) continue;  // a stop of the whole process (SIGSTOP), which waits until later
    const user_regs_struct now = get();
    if (arrived_signal_ != SIGTRAP || now.rip != instructions_.trap + 1 || now.rsp != stack_end) {
      keep_trap("while it loaded the recorder");
      continue;
    }
    if (ignores_trap_) ignore_trap(stack_end);
    return now.rax;
  }
}

void traced_thread::keep_trap(const char* moment) {
  if (arrived_signal_ != SIGTRAP) fail(exit_code::io_error, "process {} failed {}", process_.number(), moment);
  has_trap_ = true;
}

// The kernel no longer ignores an ignored signal that an instruction has raised.
void traced_thread::ignore_trap(remote_address stack_end) {
  const std::array<std::uint64_t, 4> action = {1};  // SIG_IGN, as the kernel has it
  const remote_address address = stack_end - 256;
  if (!process_.write(address, action.data(), sizeof action)) fail_ended(process_.number());
  const std::array<std::uint64_t, 4> arguments = {SIGTRAP, address, 0, 8};
  system_call(SYS_rt_sigaction, arguments);
}

// Restores the registers at a stop after which the kernel decides whether to repeat the interrupted call.
void traced_thread::restore() {
  is_calling_ = false;
  try {
    trace(PTRACE_INTERRUPT, thread_, 0, nullptr);
    const auto until = steady::now() + call_time;
    for (stop reason = run_to_stop(false, until); reason != stop::event; reason = run_to_stop(false, until)) {
      if (reason == stop::signal) keep_trap("while it was stopped");
    }
    set(before_);
    iovec area{extended_before_.data(), extended_before_.size()};
    trace(PTRACE_SETREGSET, thread_, NT_X86_XSTATE, &area);
    trace(PTRACE_SETSIGMASK, thread_, sizeof mask_before_, &mask_before_);
  } catch (const failure&) {  // the thread has ended, so there is nothing to restore
  }
}

}  // namespace tarn::command
#endif
