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

// Returns whether a signal waits that the thread does not block: its handler is to see the call interrupted.
bool has_pending_signal(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", process, thread));
  std::uint64_t pending = 0, blocked = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) pending |= std::stoull(line.substr(7), nullptr, 16);
    if (line.starts_with("SigBlk:")) blocked = std::stoull(line.substr(7), nullptr, 16);
  }
  return (pending & ~blocked) != 0;
}

}  // namespace

traced_thread::traced_thread(const remote_process& process, pid_t thread, remote_address call_instruction)
    : process_(process), thread_(thread), call_instruction_(call_instruction) {
  if (trace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) != 0) {
    if (errno == ESRCH) return;
    fail(exit_code::io_error,
         "no permission to trace process {}: {}; try sudo, in a container --cap-add=SYS_PTRACE, or sysctl "
         "kernel.yama.ptrace_scope=0",
         process.number(), system_error_text(errno));
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
  // The kernel repeats most calls that were interrupted. These it would end with EINTR, though no signal has come.
  constexpr std::array ended = {SYS_epoll_wait, SYS_epoll_pwait, SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop};
  const auto number = static_cast<std::int64_t>(before_.orig_rax);
  bool is_repeated = false;
  for (const long call : ended) is_repeated = is_repeated || call == number;
  if (is_repeated && static_cast<std::int64_t>(before_.rax) == -EINTR &&
      !has_pending_signal(process_.number(), thread_)) {
    user_regs_struct again = before_;
    again.rip -= 2;
    again.rax = again.orig_rax;
    again.orig_rax = ~std::uint64_t{0};
    trace(PTRACE_SETREGS, thread_, 0, &again);
  }
  trace(PTRACE_DETACH, thread_, 0, nullptr);
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
      fail(exit_code::io_error, "process {} did not answer in time", process_.number());
    }
    ::usleep(20);
  }
}

void traced_thread::go_on(bool to_system_call, int signal) {
  trace(to_system_call ? PTRACE_SYSCALL : PTRACE_CONT, thread_, 0, static_cast<std::intptr_t>(signal));
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
  const std::uint64_t every_signal = ~std::uint64_t{0};
  if (trace(PTRACE_GETSIGMASK, thread_, sizeof mask_before_, &mask_before_) != 0 ||
      trace(PTRACE_SETSIGMASK, thread_, sizeof every_signal, &every_signal) != 0)
    fail_ended(process_.number());
  is_calling_ = true;
}

// Goes on to the next stop, where a stop of the whole process (SIGSTOP) waits until later.
traced_thread::stop traced_thread::run_to_stop(bool to_system_call, steady::time_point until) {
  for (;;) {
    go_on(to_system_call);
    const stop reason = wait_for_stop(until);
    if (!is_stopped_) fail_ended(process_.number());
    if (reason != stop::event || !to_system_call) return reason;
  }
}

std::int64_t traced_thread::system_call(std::uint64_t number, std::span<const std::uint64_t> arguments) {
  user_regs_struct registers = before_;
  std::array<std::uint64_t, 6> words{};
  for (std::size_t index = 0; index < arguments.size(); ++index) words[index] = arguments[index];
  registers.rip = call_instruction_;
  registers.rax = number;
  registers.orig_rax = ~std::uint64_t{0};
  registers.rdi = words[0], registers.rsi = words[1], registers.rdx = words[2];
  registers.r10 = words[3], registers.r8 = words[4], registers.r9 = words[5];
  set(registers);
  const auto until = steady::now() + call_time;
  for (int stops = 0; stops < 2;) {  // before the call and after it
    const stop reason = run_to_stop(true, until);
    if (reason == stop::signal) fail(exit_code::io_error, "process {} failed in a system call", process_.number());
    ++stops;
  }
  return static_cast<std::int64_t>(get().rax);
}

std::uint64_t traced_thread::call(remote_address function, std::span<const std::uint64_t> arguments,
                                  remote_address stack_end) {
  constexpr std::uint64_t direction_flag = 0x400;
  user_regs_struct registers = before_;
  std::array<std::uint64_t, 3> words{};
  for (std::size_t index = 0; index < arguments.size(); ++index) words[index] = arguments[index];
  registers.rip = function;
  registers.rsp = stack_end - 8;
  registers.rax = 0;
  registers.rbp = 0;
  registers.eflags &= ~direction_flag;
  registers.orig_rax = ~std::uint64_t{0};
  registers.rdi = words[0], registers.rsi = words[1], registers.rdx = words[2];
  if (!process_.write(registers.rsp, &call_instruction_, sizeof call_instruction_)) fail_ended(process_.number());
  set(registers);
  // The function returns to a `syscall` instruction, with its result as the number of the call, which is not made.
  const auto until = steady::now() + call_time;
  for (;;) {
    const stop reason = run_to_stop(true, until);
    if (reason == stop::signal)
      fail(exit_code::io_error, "process {} failed while it loaded the recorder", process_.number());
    user_regs_struct now = get();
    if (now.rip != call_instruction_ + 2 || now.rsp != stack_end) continue;
    const std::uint64_t result = now.orig_rax;
    now.orig_rax = ~std::uint64_t{0};
    set(now);
    run_to_stop(true, until);
    return result;
  }
}

// The registers are set where the kernel then looks whether to repeat the call that was interrupted.
void traced_thread::restore() {
  is_calling_ = false;
  try {
    trace(PTRACE_INTERRUPT, thread_, 0, nullptr);
    const auto until = steady::now() + call_time;
    while (run_to_stop(false, until) != stop::event) {
    }
    set(before_);
    iovec area{extended_before_.data(), extended_before_.size()};
    trace(PTRACE_SETREGSET, thread_, NT_X86_XSTATE, &area);
    trace(PTRACE_SETSIGMASK, thread_, sizeof mask_before_, &mask_before_);
  } catch (const failure&) {  // the thread is gone, and so is what it held
  }
}

}  // namespace tarn::command
#endif
