#include "profiler/collect/started_program.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "profiler/base/failure.hpp"
#include "profiler/format/clock.hpp"
#include "profiler/format/region.hpp"
#include "profiler/launch/start.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

// These signals are forwarded to the program, because a sender means the program and not its recorder.
constexpr std::array forwarded = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGINT, SIGQUIT, SIGALRM};

volatile std::sig_atomic_t child = 0, stopped = 0;
void stop(int) { stopped = 1; }
// Forwards only signals that the program has not received already. A terminal's signal (SI_KERNEL) goes to all
// processes of the foreground group, and a signal that the program sends to its own group has reached it.
void forward(int signal, siginfo_t* sender, void*) {
  const bool is_alarm = signal == SIGALRM;  // set by the process that became this one by exec
  const bool is_from_process = sender->si_code <= 0 && sender->si_pid != child;
  if (is_alarm || is_from_process) ::kill(static_cast<pid_t>(child), signal);
}

// Arranges the signals around the start of the child: they stay blocked until its process number is known.
class signals {
 public:
  signals() {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;  // a recording that grows above the limit (ulimit -f) ends, the program does not
    ::sigaction(SIGXFSZ, &ignored, &too_large_before_);
    sigset_t every_signal;
    ::sigfillset(&every_signal);
    ::sigprocmask(SIG_SETMASK, &every_signal, &mask_before_);
  }
  void in_child() const {
    ::sigaction(SIGXFSZ, &too_large_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  void in_parent(pid_t started) const {
    child = started;
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    for (const int signal : forwarded) ::sigaction(signal, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // if nobody reads our messages, the program and its recording go on
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }

 private:
  sigset_t mask_before_;
  struct sigaction too_large_before_ {};
};

[[noreturn]] void become_program(const std::vector<std::string>& arguments, const std::string& path, start method,
                                 const signals& arranged) {
  try {
    set_environment(format::process_variable, std::to_string(::getpid()));
    arranged.in_child();
    execute(arguments, path, method);
  } catch (const failure& reason) {
    print_error("tarn: {}\n", reason.what());
    ::_exit(static_cast<int>(reason.code()));
  }
}

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

started_program::started_program(const std::vector<std::string>& arguments, const std::string& path, start method) {
  const signals arranged;
  begun_ns_ = format::monotonic_nanoseconds();
  process_ = ::fork();
  if (process_ < 0) fail(exit_code::cannot_run, "{}: {}", arguments.front(), system_error_text(errno));
  if (process_ == 0) become_program(arguments, path, method, arranged);
  arranged.in_parent(process_);
}

bool started_program::wait(std::vector<pollfd> descriptors, steady::time_point until) {
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  bool has_ended = false;
  for (;;) {
    siginfo_t left{};
    has_ended = ::waitid(P_PID, static_cast<id_t>(process_), &left, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                left.si_pid == process_;
    const auto milliseconds_left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
    if (has_ended || milliseconds_left <= 0) break;
    if (watch >= 0) {
      descriptors.push_back({watch, POLLIN, 0});
      ::poll(descriptors.data(), descriptors.size(), static_cast<int>(milliseconds_left));
      descriptors.pop_back();
      if (std::any_of(descriptors.begin(), descriptors.end(),
                      [](const pollfd& descriptor) { return descriptor.revents != 0; }))
        break;
    } else {  // the kernel is too old for pidfd_open
      ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(milliseconds_left, 20)));
    }
  }
  if (has_ended) {
    input_output_ = input_output_of(static_cast<std::uint64_t>(process_));
    const std::optional<process_state> own_state = state_without_children(static_cast<std::uint64_t>(process_));
    rusage usage{};
    ::wait4(process_, &status_, 0, &usage);  // with the time of children that the program waited for
    const std::uint64_t user_us = microseconds(usage.ru_utime), system_us = microseconds(usage.ru_stime);
    user_us_ = own_state ? own_state->user_us : user_us;
    system_us_ = own_state ? own_state->system_us : system_us;
    counted_us_ = user_us + system_us;
  }
  if (watch >= 0) ::close(watch);
  return has_ended;
}

format::end_facts started_program::end(const processor_counts& counts) const {
  const std::uint64_t processor_ns = counted_us_ * 1000;
  return {.status_is_signal = WIFSIGNALED(status_),
          .status = static_cast<std::uint32_t>(WIFSIGNALED(status_) ? WTERMSIG(status_) : WEXITSTATUS(status_)),
          .wall_us = (format::monotonic_nanoseconds() - begun_ns_) / 1000,
          .user_us = user_us_,
          .system_us = system_us_,
          .instructions = counts.instructions(processor_ns),
          .branch_mispredictions = counts.mispredicted_branches(processor_ns),
          .reads = input_output_.reads,
          .writes = input_output_.writes};
}

void started_program::stop_on_signals() const {
  struct sigaction action {};
  action.sa_handler = stop;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

bool started_program::is_stopped() { return stopped != 0; }

void started_program::end_alike() const {
  if (WIFSIGNALED(status_)) {
    const int signal = WTERMSIG(status_);
    const rlimit no_core{0, 0};  // the program has already written its core file
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(signal, SIG_DFL);
    sigset_t only_signal;
    ::sigemptyset(&only_signal);
    ::sigaddset(&only_signal, signal);
    ::sigprocmask(SIG_UNBLOCK, &only_signal, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
  }
  ::_exit(WEXITSTATUS(status_));
}

}  // namespace tarn::command
