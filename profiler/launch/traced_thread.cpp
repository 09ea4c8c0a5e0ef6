#include "profiler/launch/traced_thread.hpp"

#if defined(__x86_64__)
#include <elf.h>
#include <linux/rseq.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "profiler/base/failure.hpp"
#include "profiler/launch/access.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

template <class Data>
long trace(__ptrace_request request, pid_t thread, std::uint64_t address, Data data) {
  return ::ptrace(request, thread, reinterpret_cast<void*>(address), data);
}

[[noreturn]] void fail_ended(pid_t process) { fail(exit_code::io_error, "process {} ended meanwhile", process); }

// Returns what the kernel says of the thread after its name, from its state on; nothing if there is no such thread.
std::string facts_of_thread(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? std::string() : line.substr(name_end + 2);
}

// Returns a text that changes when the thread has run; empty where the kernel does not tell it.
std::string runs_of_thread(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/schedstat", process, thread));
  std::string line;
  std::getline(file, line);
  return line;
}

bool has_ended(pid_t process, pid_t thread) {
  const char state = state_of_thread(process, thread);
  return state == 'Z' || state == 'X' || state == '\0';
}

struct signal_sets {
  std::uint64_t pending = 0, blocked = 0, handled = 0;
};
signal_sets signals_of(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", process, thread));
  signal_sets sets;
  for (std::string line; std::getline(file, line);) {
    const auto set = [&] { return std::stoull(line.substr(7), nullptr, 16); };
    if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) sets.pending |= set();
    if (line.starts_with("SigBlk:")) sets.blocked = set();
    if (line.starts_with("SigCgt:")) sets.handled = set();
  }
  return sets;
}

// Returns true if a signal is pending that the thread does not block. Its handler must see the call interrupted.
bool has_pending_signal(pid_t process, pid_t thread) {
  const signal_sets sets = signals_of(process, thread);
  return (sets.pending & ~sets.blocked) != 0;
}

constexpr std::uint64_t signal_bit(int signal) { return std::uint64_t{1} << (signal - 1); }

// The signals of the thread's own faults. Where it blocks one, the kernel resets that signal's action.
constexpr std::uint64_t fault_signals = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) |
                                        signal_bit(SIGFPE) | signal_bit(SIGTRAP) | signal_bit(SIGSYS);

// Returns a signal that nobody notices: its default is to be ignored, and the program neither handles nor blocks it.
int unnoticed_signal(const signal_sets& sets) {
  constexpr std::array candidates = {SIGURG, SIGWINCH, SIGCHLD};
  for (const std::uint64_t avoided : {sets.handled | sets.blocked, sets.handled}) {
    for (const int signal : candidates) {
      if ((avoided & signal_bit(signal)) == 0) return signal;
    }
  }
  return candidates[0];
}

bool is_restricted(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", process, thread));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Seccomp:")) return line.back() != '0';
  }
  return false;
}

}  // namespace

char state_of_thread(pid_t process, pid_t thread) {
  const std::string facts = facts_of_thread(process, thread);
  return facts.empty() ? '\0' : facts.front();
}

bool is_of_kernel(pid_t process, pid_t thread) {
  constexpr unsigned io_worker = 0x10, user_worker = 0x4000;  // PF_IO_WORKER, PF_USER_WORKER
  unsigned flags = 0;
  return std::sscanf(facts_of_thread(process, thread).c_str(), "%*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
         (flags & (io_worker | user_worker)) != 0;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  return threads;
}

// close() has closed its file even if it ends so.
bool is_ended_call(const user_regs_struct& registers) {
  const auto number = static_cast<std::int64_t>(registers.orig_rax);
  return number >= 0 && number != SYS_close && static_cast<std::int64_t>(registers.rax) == -EINTR;
}

traced_thread::traced_thread(const remote_process& process, pid_t thread) : process_(process), thread_(thread) {
  if (trace(PTRACE_SEIZE, thread, 0, nullptr) != 0) {
    const int problem = errno;
    // The kernel also forbids to trace a thread that has just ended.
    if (problem == ESRCH || ::kill(process.number(), 0) != 0 || has_ended(process.number(), thread)) return;
    fail_untraceable(process.number(), problem);
  }
  trace(PTRACE_INTERRUPT, thread, 0, nullptr);
  answer_patience patience(steady::now());
  for (;;) {
    const stop reason = wait_for_stop(patience);
    if (!is_stopped_) return;
    if (reason == stop::event) break;
    go_on(reason == stop::signal ? arrived_signal_ : 0);
  }
  before_ = get();
}

traced_thread::~traced_thread() {
  if (!is_stopped_) return;
  if (is_calling_) restore();
  if (!is_stopped_) return;
  // The kernel repeats most calls that were interrupted. It would end the others with EINTR, though no signal has come.
  user_regs_struct registers = before_;
  if (is_ended_call(before_) && !has_pending_signal(process_.number(), thread_)) registers = repeated_call(before_);
  if (is_calling_ || registers.rip != before_.rip) trace(PTRACE_SETREGS, thread_, 0, &registers);
  if (is_calling_) trace(PTRACE_POKETEXT, thread_, code_.begin + offsetof(injected_data, thread), 0L);
  release();
}

// Sets is_stopped_ to false where the thread has ended.
traced_thread::stop traced_thread::wait_for_stop(answer_patience& patience) {
  constexpr int brief_pauses = 10'000;  // an answer mostly comes at once
  is_stopped_ = false;
  for (int pauses = 0;; ++pauses) {
    int status = 0;
    const pid_t waited = ::waitpid(thread_, &status, __WALL | WNOHANG);
    if (waited == thread_) {
      if (!WIFSTOPPED(status)) return stop::end;
      is_stopped_ = true;
      if (status >> 16 == PTRACE_EVENT_STOP) return stop::event;
      arrived_signal_ = WSTOPSIG(status);
      return stop::signal;
    }
    if (waited < 0 && errno != EINTR) return stop::end;
    const auto now = steady::now();
    if (patience.is_look_due(now))
      patience.look(state_of_thread(process_.number(), thread_), runs_of_thread(process_.number(), thread_), now);
    if (patience.is_over(now)) {
      // A thread that makes a call goes on with it alone. Only one that has stopped can be let go.
      reset_priority();
      trace(PTRACE_INTERRUPT, thread_, 0, nullptr);
      for (int tries = 0; tries < 1000 && ::waitpid(thread_, &status, __WALL | WNOHANG) == 0; ++tries) ::usleep(1000);
      const bool has_signal = WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) != stop_signal_;
      if (WIFSTOPPED(status)) release(has_signal ? WSTOPSIG(status) : 0);
      fail(exit_code::io_error,
           "process {} did not answer in time: its thread {}, in which the recorder works, {}; try again, or start it "
           "with tarn record",
           process_.number(), thread_, patience.reason());
    }
    ::usleep(pauses < brief_pauses ? 20 : 1000);
  }
}

void traced_thread::go_on(int signal) { trace(PTRACE_CONT, thread_, 0, static_cast<std::intptr_t>(signal)); }

void traced_thread::release(int signal) {
  trace(PTRACE_DETACH, thread_, 0, static_cast<std::intptr_t>(signal));
  for (int number = 1; number < NSIG; ++number) {
    if ((held_signals_ & signal_bit(number)) != 0) ::syscall(SYS_tgkill, process_.number(), thread_, number);
  }
}

bool traced_thread::is_fault() const {
  siginfo_t facts{};
  return (fault_signals & signal_bit(arrived_signal_)) != 0 && trace(PTRACE_GETSIGINFO, thread_, 0, &facts) == 0 &&
         facts.si_code > 0;
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
bool traced_thread::has_descriptor() const {
  const auto content = process_.value_at<thread_descriptor>(before_.fs_base);
  return content && content->is_at(before_.fs_base) &&
         (thread_ == process_.number() ||
          content->number == static_cast<std::uint32_t>(process_.own_number_of(thread_)));
}
std::uint64_t traced_thread::signal_mask() const {
  std::uint64_t mask = 0;
  if (trace(PTRACE_GETSIGMASK, thread_, sizeof mask, &mask) != 0) fail_ended(process_.number());
  return mask;
}
void traced_thread::write_code(remote_address address, std::span<const std::uint64_t> content) {
  if (process_.write(address, content.data(), content.size_bytes())) return;
  for (const std::uint64_t word : content) {  // the kernel may forbid such writes to all but debuggers
    if (trace(PTRACE_POKETEXT, thread_, address, word) != 0) fail_ended(process_.number());
    address += sizeof word;
  }
}

void traced_thread::abort_sequence() {
  __ptrace_rseq_configuration facts{};
  if (trace(PTRACE_GET_RSEQ_CONFIGURATION, thread_, sizeof facts, &facts) <= 0 || facts.rseq_abi_pointer == 0) return;
  const auto begun = process_.value_at<remote_address>(facts.rseq_abi_pointer + offsetof(rseq, rseq_cs));
  if (!begun || *begun == 0) return;
  const auto sequence = process_.value_at<rseq_cs>(*begun);
  if (sequence && before_.rip - sequence->start_ip < sequence->post_commit_offset) before_.rip = sequence->abort_ip;
}

std::int64_t traced_thread::begin_calls(const injected_code& code, std::size_t scratch_bytes) {
  constexpr std::uint64_t unblockable = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
  const signal_sets sets = signals_of(process_.number(), thread_);
  abort_sequence();
  mask_before_ = signal_mask();
  stop_signal_ = unnoticed_signal(sets);
  code_ = code;
  scratch_bytes_ = scratch_bytes;
  injected_data data{};
  data.thread = static_cast<std::uint64_t>(process_.own_number_of(thread_));
  data.process = static_cast<std::uint64_t>(process_.own_number_of(process_.number()));
  data.signal = static_cast<std::uint64_t>(stop_signal_);
  data.blocked_signals = ~(signal_bit(stop_signal_) | unblockable | (fault_signals & ~mask_before_));
  data.signal_mask = mask_before_;
  data.scratch_bytes = scratch_bytes;
  is_hurried_ = ::sched_getscheduler(thread_) == SCHED_OTHER && !is_restricted(process_.number(), thread_);
  data.is_hurried = is_hurried_ ? 1 : 0;
  set_registers(data, before_);
  write_code(code.begin, injected_code::content_with(data));
  set(call_registers(code.start));
  is_calling_ = true;  // from here on the thread goes back by itself
  // The code does the same, but a signal might come before.
  if (trace(PTRACE_SETSIGMASK, thread_, sizeof data.blocked_signals, &data.blocked_signals) != 0)
    fail_ended(process_.number());
  // On a busy machine the two threads that do the work would otherwise wait for a processor each time that they take
  // turns. They sleep when they wait for a lock, so its holder can run.
  raise_priority();
  scratch_ = run_to(code_.first_stop).rbx;
  return static_cast<std::int64_t>(scratch_);
}

void traced_thread::raise_priority() const {
  const sched_param lowest{1};
  if (is_hurried_) ::sched_setscheduler(thread_, SCHED_FIFO, &lowest);
}
void traced_thread::reset_priority() const {
  const sched_param usual{0};
  if (is_hurried_) ::sched_setscheduler(thread_, SCHED_OTHER, &usual);
}

user_regs_struct traced_thread::call_registers(remote_address instruction) const {
  user_regs_struct registers = before_;
  registers.rip = instruction;
  registers.orig_rax = ~std::uint64_t{0};
  registers.r15 = scratch_;
  registers.r14 = vectors_;
  return registers;
}

user_regs_struct traced_thread::run_to(remote_address instruction) {
  answer_patience patience(steady::now());
  for (int signal = 0;;) {
    go_on(signal);
    const stop reason = wait_for_stop(patience);
    if (!is_stopped_) fail_ended(process_.number());
    signal = 0;
    if (reason != stop::signal) continue;  // a stop of the whole process (SIGSTOP), which waits until later
    if (arrived_signal_ == stop_signal_) {
      const user_regs_struct registers = get();
      if (registers.rip == instruction) return registers;
    }
    if (is_fault()) {
      fail(exit_code::io_error, "process {} failed while it loaded the recorder: {}", process_.number(),
           ::strsignal(arrived_signal_));
    }
    if (arrived_signal_ == SIGSTOP) {
      signal = SIGSTOP;  // stops the other threads now, and this one when it is released
    } else {
      held_signals_ |= signal_bit(arrived_signal_);
    }
  }
}

std::int64_t traced_thread::system_call(std::uint64_t number, std::span<const std::uint64_t> arguments) {
  user_regs_struct registers = call_registers(code_.system_call);
  std::array<std::uint64_t, 6> values{};
  for (std::size_t index = 0; index < arguments.size(); ++index) values[index] = arguments[index];
  registers.rax = number;
  registers.rdi = values[0], registers.rsi = values[1], registers.rdx = values[2];
  registers.r10 = values[3], registers.r8 = values[4], registers.r9 = values[5];
  set(registers);
  return static_cast<std::int64_t>(run_to(code_.first_stop).rbx);
}

// The kernel's layout of the registers in a register set is that of the instruction that restores them.
void traced_thread::save_vectors() {
  constexpr std::size_t max_bytes = 64 * 1024, alignment = 64;
  std::vector<char> vectors(max_bytes);
  iovec area{vectors.data(), vectors.size()};
  if (trace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, &area) != 0) fail_ended(process_.number());
  const remote_address area_start = (scratch_ + scratch_bytes_ - area.iov_len) & ~(alignment - 1);
  if (!process_.write(area_start, vectors.data(), area.iov_len)) fail_ended(process_.number());
  vectors_ = area_start;
}

std::uint64_t traced_thread::call(remote_address function, std::span<const std::uint64_t> arguments) {
  constexpr std::uint64_t direction_flag = 0x400;
  if (vectors_ == 0) save_vectors();
  user_regs_struct registers = call_registers(function);
  std::array<std::uint64_t, 3> values{};
  for (std::size_t index = 0; index < arguments.size(); ++index) values[index] = arguments[index];
  registers.rsp = vectors_ - sizeof code_.after_call;
  registers.rax = 0;
  registers.rbp = 0;
  registers.eflags &= ~direction_flag;
  registers.rdi = values[0], registers.rsi = values[1], registers.rdx = values[2];
  if (!process_.write(registers.rsp, &code_.after_call, sizeof code_.after_call)) fail_ended(process_.number());
  set(registers);
  return run_to(code_.first_stop).rbx;
}

// Has the injected code restore all but the priority, the signal mask and the registers, for which the kernel decides
// in one step whether to repeat the interrupted system call. Until then, the code would do that, too.
void traced_thread::restore() {
  try {
    set(call_registers(code_.first_stop));
    run_to(code_.last_stop);
    reset_priority();
    if (trace(PTRACE_SETSIGMASK, thread_, sizeof mask_before_, &mask_before_) != 0) fail_ended(process_.number());
  } catch (const failure&) {  // the thread has ended or goes on by itself
    is_stopped_ = false;
  }
}

}  // namespace tarn::command
#endif
