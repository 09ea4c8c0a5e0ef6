// `tarn record`: runs a program with libtarn-record.so in it, and writes what that counts to a file.
//
// The program is a child of this process, which waits, reads the shared memory now and then and at the end, and ends
// as the program did. What is counted survives any end of the program; what was written survives any end of ours.
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "tarn/children.hpp"
#include "tarn/commands.hpp"
#include "tarn/failure.hpp"
#include "tarn/library.hpp"
#include "tarn/own_heap.hpp"
#include "tarn/processor_counts.hpp"
#include "tarn/program.hpp"
#include "tarn/recorded.hpp"
#include "tarn/start.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_look{50};

// Of bytes, a block counting as 256 more: of small blocks one in some hundreds is sampled.
constexpr std::uint64_t default_interval = 128 * 1024;

struct record_request {
  std::string output = "tarn.rec";
  std::string library;
  bool heap = false, locks = false, syscalls = false;
  bool full = false, follow = false;
  std::uint64_t interval = default_interval;
};

// Sent to this process alone, they are meant for the program; a terminal sends those of the keyboard to both.
constexpr std::array handed_on = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
constexpr std::array of_the_keyboard = {SIGINT, SIGQUIT};

volatile std::sig_atomic_t child = 0, stopped = 0;
void stop(int) { stopped = 1; }
void hand_on(int signal) { ::kill(static_cast<pid_t>(child), signal); }

// Signals arrange themselves around the child: blocked until its number is known.
class signals {
 public:
  signals() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  void in_child() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  void in_parent(pid_t started) const {
    child = started;
    struct sigaction action {};
    action.sa_handler = hand_on;
    action.sa_flags = SA_RESTART;
    for (const int signal : handed_on) ::sigaction(signal, &action, nullptr);
    action.sa_handler = SIG_IGN;  // the program decides; the recording goes on
    for (const int signal : of_the_keyboard) ::sigaction(signal, &action, nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  // What may still run are processes that it left behind: now a signal ends the recording of them.
  void program_ended() const {
    struct sigaction action {};
    action.sa_handler = stop;
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  }

 private:
  sigset_t before_;
};

bool can_dispatch() {
#if defined(__x86_64__)
  return ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) == 0;  // off, as it is
#else
  return false;
#endif
}

// What is asked for: everything, where nothing is named. Without system calls where this kernel or processor cannot
// dispatch them: said, or a usage failure where they are named.
std::uint32_t sources_of(const record_request& request) {
  using enum format::kind;
  std::uint32_t sources = 0;
  if (request.heap) sources |= source_bit(heap_kind);
  if (request.locks) sources |= source_bit(lock_kind);
  if (request.syscalls) sources |= source_bit(call_kind);
  const bool all = sources == 0;
  if (all) sources = source_bit(heap_kind) | source_bit(lock_kind) | source_bit(call_kind);
  if ((sources & source_bit(call_kind)) != 0 && !can_dispatch()) {
    constexpr const char* why = "this kernel cannot dispatch system calls to their program (x86-64, Linux 5.11)";
    if (!all) fail(exit_code::usage, "--syscalls: {}", why);
    fmt::print(stderr, "tarn: system calls are not recorded: {}\n", why);
    sources &= ~source_bit(call_kind);
  }
  return sources;
}

std::vector<std::string> names_of(std::uint32_t sources) {
  using enum format::kind;
  std::vector<std::string> names;
  if ((sources & source_bit(heap_kind)) != 0) names.emplace_back("heap");
  if ((sources & source_bit(lock_kind)) != 0) names.emplace_back("locks");
  if ((sources & source_bit(call_kind)) != 0) names.emplace_back("system calls by syscall user dispatch");
  return names;
}

// But for the number of the process.
format::program_facts facts_of(const std::vector<std::string>& words, std::uint32_t sources, bool full) {
  utsname machine{};
  ::uname(&machine);
  return {0,
          static_cast<std::uint64_t>(::time(nullptr)),
          fmt::format("{} {} {}, {} processors", machine.sysname, machine.release, machine.machine,
                      ::sysconf(_SC_NPROCESSORS_ONLN)),
          full ? "full" : "sampled",
          names_of(sources),
          words};
}

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

// Returns when the process has ended, or another one of `others`, or at `until`; whether it has.
bool wait_for(pid_t process, std::vector<pollfd> others, steady::time_point until, int& status, rusage& usage) {
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  for (;;) {
    const pid_t ended = ::wait4(process, &status, WNOHANG, &usage);
    if (ended == process) {
      if (watch >= 0) ::close(watch);
      return true;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
    if (left <= 0) break;
    if (watch >= 0) {
      others.push_back({watch, POLLIN, 0});
      ::poll(others.data(), others.size(), static_cast<int>(left));
      others.pop_back();
      if (std::any_of(others.begin(), others.end(), [](const pollfd& each) { return each.revents != 0; })) break;
    } else {  // an old kernel
      ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(left, 20)));
    }
  }
  if (watch >= 0) ::close(watch);
  return false;
}

std::string count_words(const format::recording& now, std::uint32_t sources) {
  using enum format::kind;
  std::uint64_t blocks = 0, calls = 0, locked = 0;
  for (const format::thread_facts& each : now.threads) blocks += each.allocations;
  for (const auto& [key, value] : now.calls) calls += value[format::calls];
  std::string words;
  const auto say = [&](format::kind source, std::uint64_t count, const char* what) {
    if ((sources & source_bit(source)) != 0) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, what);
  };
  for (const auto& [key, value] : now.lockings) locked += value[format::acquisitions];
  say(heap_kind, blocks, "allocations");
  say(lock_kind, locked, "locks taken");
  say(call_kind, calls, "system calls");
  return words;
}

void say_the_end(std::uint32_t sources, const recorded& of) {
  const region_file& region = of.region();
  if (region.images() == 0) {
    if (region.problem() != 0) {
      fmt::print(stderr, "tarn: not recorded: no address space for the recorder: {}\n", system_words(region.problem()));
    } else {
      fmt::print(stderr, "tarn: not recorded: the program did not load libtarn-record.so\n");
    }
    return;
  }
  if (region.call_problem() != 0) {
    fmt::print(stderr, "tarn: system calls were not recorded: {}\n", system_words(region.call_problem()));
  }
  const format::recording& now = of.now();
  if (const format::module_facts* const own = own_heap_in(now)) {
    fmt::print(stderr, "tarn: {}\n", own_heap_words(*own));
  }
  if (!of.is_whole()) return;
  fmt::print(stderr, "tarn: {} at {} sites by {} threads, in {} ({} bytes); tarn report {}\n",
             count_words(now, sources), now.sites.size() - 1, now.threads.size(), of.path(), of.bytes(), of.path());
}

// Ends as the program did.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const rlimit no_core{0, 0};  // the program has written its own
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(signal, SIG_DFL);
    sigset_t only;
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
  }
  ::_exit(WEXITSTATUS(status));
}

[[noreturn]] void start_program(const std::vector<std::string>& words, const std::string& program, start how,
                                const signals& old) {
  try {
    set_environment(format::process_variable, std::to_string(::getpid()));
    old.in_child();
    execute(words, program, how);
  } catch (const failure& reason) {
    fmt::print(stderr, "tarn: {}\n", reason.what());
    ::_exit(static_cast<int>(reason.code()));
  }
}

[[noreturn]] void record(const record_request& request, const std::vector<std::string>& words) {
  const std::string library = find_library("libtarn-record.so", request.library);
  const std::string program = find_program(words.front());
  const start how = check_preloadable(words.front(), program);
  const std::uint32_t sources = sources_of(request);
  const std::uint64_t interval = request.full ? 0 : request.interval;
  recorded first(sources, interval);
  children others;
  if (request.follow) others.offer_to(first.region(), sources, interval);
  format::program_facts facts = facts_of(words, sources, request.full);
  try {
    first.begin(request.output, facts);
  } catch (const std::system_error& error) {
    fail(exit_code::usage, "{}", error.what());
  }
  preload(library);
  set_environment(format::region_variable, first.region().path());

  // With --follow it would be of several recordings together.
  processor_counts counts((sources & source_bit(format::heap_kind)) != 0 && !request.follow);
  const signals arranged;
  const auto begun = steady::now();
  const pid_t process = ::fork();
  if (process < 0) fail(exit_code::cannot_run, "{}: {}", words.front(), system_words(errno));
  if (process == 0) start_program(words, program, how, arranged);
  arranged.in_parent(process);

  facts.process = static_cast<std::uint64_t>(process);
  first.begin(request.output, facts);
  int status = 0;
  rusage usage{};
  auto next = steady::now() + first_look;
  while (!wait_for(process, others.running(), next, status, usage)) {
    if (steady::now() >= counts.next_turn()) counts.turn();
    if (steady::now() >= first.next_look()) first.write_changes();
    next = std::min({first.next_look(), counts.next_turn(), others.write_changes(request.output, facts)});
  }
  const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(steady::now() - begun);
  const std::uint64_t processor_ns = (microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) * 1000;
  const format::end_facts ending{
      WIFSIGNALED(status),
      static_cast<std::uint32_t>(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)),
      static_cast<std::uint64_t>(wall.count()),
      microseconds(usage.ru_utime),
      microseconds(usage.ru_stime),
      counts.instructions(processor_ns),
      counts.surprises(processor_ns)};
  first.write_changes(ending);
  first.write_end(ending);
  arranged.program_ended();
  others.write_changes(request.output, facts);
  while (others.any_runs() && stopped == 0) {
    std::vector<pollfd> running = others.running();
    ::poll(running.data(), running.size(), static_cast<int>(first_look.count()));
    others.write_changes(request.output, facts);
  }
  others.write_changes(request.output, facts, true);
  say_the_end(sources, first);
  others.say(first.region());
  std::fflush(nullptr);
  end_like(status);
}

class record_formatter : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: tarn record [OPTIONS] -- PROGRAM [ARGS...]\n";
  }
};

}  // namespace

void add_record(CLI::App& application, const std::vector<std::string>& after_dashes) {
  CLI::App* const command = application.add_subcommand(
      "record", "Run a program and record what each call stack allocates, locks and asks of the system.");
  command->formatter(std::make_shared<record_formatter>());
  command->prefix_command();
  const auto request = std::make_shared<record_request>();
  command->add_option("-o,--output", request->output, "the recording; tarn.rec if not given")->type_name("FILE");
  command->add_flag("--heap", request->heap, "record allocations; without a source named: everything");
  command->add_flag("--locks", request->locks, "record mutexes, reader-writer and spin locks, condition variables");
  command->add_flag("--syscalls", request->syscalls, "record system calls, also those that the C library makes");
  CLI::Option* const full =
      command->add_flag("--full", request->full, "count every block at its call stack, instead of samples");
  command
      ->add_option("--sample", request->interval,
                   fmt::format("sample one block in so many bytes, each counted as {} more; {} if not given",
                               format::cost_of_a_block, default_interval))
      ->check(CLI::Range(std::uint64_t{1024}, std::uint64_t{1} << 30))
      ->type_name("BYTES")
      ->excludes(full);
  command->add_flag("--follow", request->follow,
                    "record also the processes that it starts, each in a file of its own, FILE.PROCESS");
  command->add_option("--lib", request->library, "the libtarn-record.so to use, if not the one beside this program")
      ->type_name("PATH");
  command->footer(
      "Recorded is the process that is started, also after an exec. With --follow the recording ends with the last\n"
      "of the processes, or with a signal that comes after the first one ended.\n"
      "Exit code and signals are the program's own; 2 for a wrong command line, 126 when the program cannot be\n"
      "recorded, 127 when it is not found.");
  command->callback([request, command, &after_dashes] { record(*request, program_words(*command, after_dashes)); });
}

}  // namespace tarn::command
