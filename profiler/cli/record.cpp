// `tarn record`: runs a program with libtarn-record.so in it, and writes the counters to a file.
//
// The program is a child of this process. This process waits, reads the shared memory from time to time and at the
// end, and ends as the program did. The counters survive any end of the program; the written part survives any end of
// this process.
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
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/output_file.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/record_request.hpp"
#include "profiler/collect/children.hpp"
#include "profiler/collect/process_recording.hpp"
#include "profiler/collect/process_state.hpp"
#include "profiler/collect/recorder_prices.hpp"
#include "profiler/collect/recording_bounds.hpp"
#include "profiler/findings/heap/own_malloc.hpp"
#include "profiler/findings/limits.hpp"
#include "profiler/findings/time/cpu.hpp"
#include "profiler/findings/time/thread_roles.hpp"
#include "profiler/findings/unrecorded.hpp"
#include "profiler/findings/waits/locks.hpp"
#include "profiler/findings/waits/system_calls.hpp"
#include "profiler/format/clock.hpp"
#include "profiler/format/part.hpp"
#include "profiler/launch/access.hpp"
#include "profiler/launch/launchers.hpp"
#include "profiler/launch/library.hpp"
#include "profiler/launch/processor_counts.hpp"
#include "profiler/launch/program.hpp"
#include "profiler/launch/start.hpp"
#include "profiler/predict/recording_cost.hpp"
#include "profiler/report/values.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_pause{50};

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
  // Only processes that the program left behind may still run: from now on a signal ends their recording.
  void program_ended() const {
    struct sigaction action {};
    action.sa_handler = stop;
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  }

 private:
  sigset_t mask_before_;
  struct sigaction too_large_before_ {};
};

bool can_dispatch() {
#if defined(__x86_64__)
  return ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) == 0;  // changes nothing: it is off
#else
  return false;
#endif
}

// Returns the requested sources, or all where none is named. Where this kernel or processor cannot dispatch system
// calls, it leaves them out with a message, or throws a failure if they are named.
std::uint32_t sources_of(const record_request& request) {
  using enum format::kind;
  std::uint32_t sources = 0;
  if (request.records_heap) sources |= source_bit(heap_kind);
  if (request.records_locks) sources |= source_bit(lock_kind);
  if (request.records_syscalls) sources |= source_bit(call_kind);
  if (sources == 0 && request.records_cpu) return 0;
  const bool is_default = sources == 0;
  if (is_default) sources = source_bit(heap_kind) | source_bit(lock_kind) | source_bit(call_kind);
  if ((sources & source_bit(call_kind)) != 0 && !can_dispatch()) {
    constexpr const char* reason = "this kernel cannot dispatch system calls to their program (x86-64, Linux 5.11)";
    if (!is_default) fail(exit_code::missing, "--syscalls: {}", reason);
    fmt::print(stderr, "tarn: system calls are not recorded: {}\n", reason);
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

}  // namespace

format::program_facts facts_of(const std::vector<std::string>& arguments, std::uint32_t sources,
                               std::uint64_t interval) {
  utsname machine{};
  ::uname(&machine);
  return {.started = static_cast<std::uint64_t>(::time(nullptr)),
          .machine = fmt::format("{} {} {}, {} processors", machine.sysname, machine.release, machine.machine,
                                 ::sysconf(_SC_NPROCESSORS_ONLN)),
          .mode = interval == 0 ? "full" : "sampled",
          .sources = names_of(sources),
          .arguments = arguments,
          .interval = interval,
          .host = machine.nodename};
}

std::unique_ptr<cpu::sampler> add_cpu_source(format::program_facts& facts, pid_t process) {
  auto sampler = process == 0 ? std::make_unique<cpu::sampler>() : std::make_unique<cpu::sampler>(process);
  if (sampler->error() == 0) {
    facts.sources.emplace_back("cpu");
    return sampler;
  }
  const std::string reason =
      fmt::format("the kernel refuses to sample the processor: {}", system_error_text(sampler->error()));
  constexpr const char* cure =
      "sysctl kernel.perf_event_paranoid=2, root, or in a container --cap-add=PERFMON may help";
  if (facts.sources.empty()) fail(exit_code::missing, "--cpu: {}; {}", reason, cure);
  fmt::print(stderr, "tarn: {}; {}\n", reason, cure);
  return nullptr;
}

void take_samples(cpu::sampler* sampler) {
  if (sampler != nullptr) sampler->take();
}

namespace {

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

// Waits until the process ends, one of `others` ends, or `until` is reached. Returns whether the process has ended.
bool wait_for(pid_t process, std::vector<pollfd> other_descriptors, steady::time_point until, int& status,
              rusage& usage, input_output_counts& counts) {
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  for (;;) {
    siginfo_t left{};
    if (::waitid(P_PID, static_cast<id_t>(process), &left, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        left.si_pid == process) {
      counts = input_output_of(static_cast<std::uint64_t>(process));
      ::wait4(process, &status, 0, &usage);
      if (watch >= 0) ::close(watch);
      return true;
    }
    const auto milliseconds_left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now()).count();
    if (milliseconds_left <= 0) break;
    if (watch >= 0) {
      other_descriptors.push_back({watch, POLLIN, 0});
      ::poll(other_descriptors.data(), other_descriptors.size(), static_cast<int>(milliseconds_left));
      other_descriptors.pop_back();
      if (std::any_of(other_descriptors.begin(), other_descriptors.end(),
                      [](const pollfd& descriptor) { return descriptor.revents != 0; }))
        break;
    } else {  // the kernel is too old for pidfd_open
      ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(milliseconds_left, 20)));
    }
  }
  if (watch >= 0) ::close(watch);
  return false;
}

// `all_threads` is 0 where it is not known.
std::string summary_text(const format::recording& recording, std::uint32_t sources, std::uint64_t all_threads) {
  using enum format::kind;
  std::uint64_t blocks = 0;
  for (const format::thread_facts& thread : recording.threads) blocks += thread.allocations;
  std::string text;
  const auto add_count = [&](bool is_recorded, std::uint64_t count, const char* noun, const char* remark) {
    if (is_recorded) text += (text.empty() ? "" : ", ") + count_text(count, noun) + remark;
  };
  const auto has = [&](format::kind source) { return (sources & source_bit(source)) != 0; };
  add_count(has(heap_kind), blocks, "allocation", "");
  if (has(lock_kind)) {
    const analyse::lock_findings locks = analyse::find_locks(recording);
    add_count(true, locks.acquisitions, "lock", locks.error == 0 ? " taken" : " taken (estimated)");
  }
  std::uint64_t samples = 0;
  for (const auto& [key, value] : recording.cpu.cells) samples += value[format::cpu_samples];
  add_count(recording.cpu.interval_ns != 0, samples, "CPU sample", "");
  if (has(call_kind)) {
    const analyse::call_findings calls = analyse::find_calls(recording);
    text += (text.empty() ? "" : ", ") + estimate_text(calls.calls, calls.error, "system call");
  }
  // A file that begins late also names sites and threads of before.
  std::set<std::uint32_t> sites, threads;
  const auto add_users = [&](const auto& cells, auto thread) {
    for (const auto& [key, value] : cells) {
      sites.insert(key.site);
      threads.insert(key.*thread);
    }
  };
  add_users(recording.cells, &format::heap_key::actor);
  add_users(recording.calls, &format::call_key::thread);
  add_users(recording.acquisitions, &format::lock_key::thread);
  add_users(recording.cpu.cells, &format::cpu_key::thread);
  for (std::uint32_t number = 0; number < recording.threads.size(); ++number) {
    if (recording.threads[number].allocations + recording.threads[number].frees != 0) threads.insert(number);
  }
  sites.erase(0);  // stands for all beyond the limit
  const std::size_t count = count_of_threads(recording, threads);
  const std::string seen_threads = count < all_threads && !threads.empty()
                                       ? fmt::format("{} of {}", group_digits(count), count_text(all_threads, "thread"))
                                       : count_text(count, "thread");
  return text + fmt::format(" at {} by {}", count_text(sites.size(), "call stack"), seen_threads);
}

}  // namespace

void obey(recorder_control& control, bounded_recording& files, const process_recording& recording) {
  const recording_command command = control.next();
  if (command == recording_command::stop && !files.is_paused()) {
    files.pause();
    fmt::print(stderr, "tarn: recording stopped; {} has what was before\n", recording.path());
  } else if (command == recording_command::start && files.is_paused() && files.resume()) {
    fmt::print(stderr, "tarn: recording started again, in {}\n", recording.path());
  }
  if (command != recording_command::no_command) control.answer(!files.is_paused());
}

void print_summary(std::uint32_t sources, process_recording& recording) {
  const region_file& region = recording.region();
  for (const std::string& line : unrecorded_text(recording.now())) fmt::print(stderr, "tarn: {}\n", line);
  if (const std::string limits = limits_text(recording.now()); !limits.empty())
    fmt::print(stderr, "tarn: {}\n", limits);
  if (region.images() == 0) {
    if (region.problem() != 0) {
      fmt::print(stderr, "tarn: nothing was recorded: no address space for the recorder: {}\n",
                 system_error_text(region.problem()));
    } else {
      fmt::print(
          stderr,
          "tarn: nothing was recorded: the program did not load libtarn-record.so (static, set-uid, or it clears "
          "LD_PRELOAD?): name the program itself, or use --follow\n");
    }
    return;
  }
  if (region.call_problem() != 0) {
    fmt::print(stderr, "tarn: system calls were not recorded: {}\n", system_error_text(region.call_problem()));
  }
  // The figures are those of the report, which reads the file.
  const format::recording recorded_facts = analyse::with_cpu_sites(analyse::reconcile_calls(recording.take_file()));
  if (const format::module_facts* const module = own_malloc_in(recorded_facts)) {
    fmt::print(stderr, "tarn: {}\n", own_malloc_text(*module));
  }
  if (const std::uint64_t lost = recorded_facts.cpu.lost; lost != 0)
    fmt::print(stderr, "tarn: the kernel had no room for {} records of the processor; they are missing\n", lost);
  if (!recording.is_whole() || !recording.save_if_replaced()) return;
  fmt::print(stderr, "tarn: {}; {}\n", analyse::cost_text_of(recorded_facts),
             analyse::collector_text_of(recorded_facts));
  if (const std::string doubt = analyse::doubt_text_of(recorded_facts); !doubt.empty())
    fmt::print(stderr, "tarn: {}\n", doubt);
  fmt::print(stderr, "tarn: {}, in {} ({} bytes); see it with: tarn report {}\n",
             summary_text(recorded_facts, sources, recording.all_threads()), recording.path(),
             group_digits(recording.bytes()), recording.path());
}

namespace {

// Ends this process in the way the program ended.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
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
  ::_exit(WEXITSTATUS(status));
}

[[noreturn]] void start_program(const std::vector<std::string>& arguments, const std::string& program, start method,
                                const signals& arranged) {
  try {
    set_environment(format::process_variable, std::to_string(::getpid()));
    arranged.in_child();
    execute(arguments, program, method);
  } catch (const failure& reason) {
    fmt::print(stderr, "tarn: {}\n", reason.what());
    ::_exit(static_cast<int>(reason.code()));
  }
}

// Keeps one recording of those of a launcher and its descendants, and prints which one.
process_recording& keep_one(children& child_processes, process_recording& launcher) {
  process_recording& kept_recording = child_processes.keep_longest_running(launcher);
  if (&kept_recording != &launcher)
    fmt::print(stderr, "tarn: kept the recording of {}\n", fmt::join(kept_recording.region().arguments(), " "));
  return kept_recording;
}

[[noreturn]] void record(const record_request& request, const std::vector<std::string>& arguments) {
  constexpr auto file = "libtarn-record.so";
  require_proc();
  const std::string library = find_library(file, request.library);
  const std::string program = find_program(arguments.front());
  const start method = check_preloadable(arguments.front(), program, file);
  const std::uint32_t sources = sources_of(request);
  const std::uint64_t interval = request.records_all || request.searches_heap() ? 0 : request.interval;
  // A launcher's children are recorded as with --follow, and in the end one recording is kept.
  const bool starts_launcher = !request.follows_children && request.every.empty() && is_launcher(program);
  if (!request.every.empty() && is_launcher(program) && !execs_its_program(program))
    fail(exit_code::usage,
         "--every divides the recording of one process, and {} starts its program as another one; start that program "
         "itself, or record it by --pid",
         arguments.front());
  const region_sizes sizes = sizes_within_limits(interval == 0, request.follows_children || starts_launcher);
  const std::unique_ptr<file_pusher> pusher = start_pusher(request);
  process_recording first(sources, interval, sizes.first);
  format::program_facts facts = facts_of(arguments, sources, interval);
  const std::unique_ptr<cpu::sampler> sampler = request.records_cpu ? add_cpu_source(facts, 0) : nullptr;
  if (sampler != nullptr) first.use_sampler(*sampler);
  children child_processes;
  if (request.follows_children || starts_launcher)
    child_processes.offer_to(first.region(), sources, interval, sizes, sampler.get());
  recorder_prices prices(library, sources, interval == 0);
  bounded_recording files(first, prices, request.output, bounds_of(request));
  connect(files, pusher.get());
  try {
    files.begin(facts);
  } catch (const std::system_error& error) {
    fail(exit_code::io_error, "{}{}", error.what(), missing_folder_text(request.output, error.code().value()));
  }
  std::optional<recorder_control> control;
  if (!request.follows_children && !starts_launcher) control.emplace(first.region());
  if (control) first.request_searches(request.searches_leaks, request.searches_contents);
  preload(library);
  set_environment(format::region_variable, first.region().path());

  // With --follow the counts would belong to several recordings together.
  processor_counts counts((sources & source_bit(format::heap_kind)) != 0 && !request.follows_children);
  const signals arranged;
  const std::uint64_t begun_ns = format::monotonic_nanoseconds();
  const pid_t process = ::fork();
  if (process < 0) fail(exit_code::cannot_run, "{}: {}", arguments.front(), system_error_text(errno));
  if (process == 0) start_program(arguments, program, method, arranged);
  arranged.in_parent(process);
  if (sampler != nullptr && !request.follows_children && !starts_launcher) sampler->keep_only(process);

  facts.process = static_cast<std::uint64_t>(process);
  files.begin(facts);
  int status = 0;
  rusage usage{};
  auto next = steady::now() + first_pause;
  input_output_counts input_output;
  const auto events = [&] {
    std::vector<pollfd> descriptors = child_processes.poll_entries();
    if (control) descriptors.push_back({control->descriptor(), POLLIN, 0});
    return descriptors;
  };
  while (!wait_for(process, events(), next, status, usage, input_output)) {
    if (steady::now() >= counts.next_turn()) counts.turn();
    if (control) obey(*control, files, first);
    take_samples(sampler.get());
    first.search_heap();
    files.write_changes();
    if (files.is_over()) {
      first.region().stop();
      if (sampler != nullptr) sampler->stop();
      control.reset();
      files.end_early();
      child_processes.end_early(request.output, facts, prices);
      print_summary(sources, starts_launcher ? keep_one(child_processes, first) : first);
      finish_pusher(files, pusher.get(), [] { return false; });
      while (!wait_for(process, {}, steady::now() + std::chrono::hours(1), status, usage, input_output)) {
      }
      std::fflush(nullptr);
      end_like(status);
    }
    constexpr std::chrono::milliseconds longest_exit{20};  // that it waits for the search to begin
    const auto next_look = request.searches_heap() ? steady::now() + longest_exit : steady::time_point::max();
    next =
        std::min({next_look, files.next(), counts.next_turn(), child_processes.write_changes(request.output, facts)});
    if (sampler != nullptr) next = std::min(next, sampler->next());
  }
  if (sampler != nullptr) sampler->take();
  const std::uint64_t wall_us = (format::monotonic_nanoseconds() - begun_ns) / 1000;
  const std::uint64_t processor_ns = (microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) * 1000;
  const format::end_facts ending{
      WIFSIGNALED(status),
      static_cast<std::uint32_t>(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)),
      wall_us,
      microseconds(usage.ru_utime),
      microseconds(usage.ru_stime),
      counts.instructions(processor_ns),
      counts.mispredicted_branches(processor_ns),
      input_output.reads,
      input_output.writes};
  files.end(ending);
  first.explain_missing_searches(request.searches_leaks, request.searches_contents, starts_launcher);
  arranged.program_ended();
  child_processes.write_changes(request.output, facts);
  while (request.follows_children && child_processes.has_running() && stopped == 0) {
    std::vector<pollfd> entries = child_processes.poll_entries();
    ::poll(entries.data(), entries.size(), static_cast<int>(first_pause.count()));
    take_samples(sampler.get());
    child_processes.write_changes(request.output, facts);
  }
  if (sampler != nullptr) sampler->stop();
  child_processes.write_changes(request.output, facts, true);
  if (!files.is_paused()) first.write_work(prices);
  child_processes.write_work(prices);
  if (starts_launcher) {
    print_summary(sources, keep_one(child_processes, first));
  } else {
    first.write_unrecorded(unrecorded_in(first.region()));
    print_summary(sources, first);
    child_processes.write_unrecorded();
    child_processes.print_summary(first.region());
  }
  finish_pusher(files, pusher.get(), [] { return stopped != 0; });
  std::fflush(nullptr);
  end_like(status);
}

class record_formatter : public help_formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: tarn record [OPTIONS] -- PROGRAM [ARGS...]\n       tarn record [OPTIONS] --pid PID\n"
           "       tarn record --pid PID start|stop\n";
  }
};

}  // namespace

namespace {

// Returns the command to a running recording that the command line is, if it is one.
recording_command command_in(const CLI::App& command) {
  const std::vector<std::string> arguments = command.remaining();
  if (arguments.size() != 1 || (arguments.front() != "start" && arguments.front() != "stop"))
    return recording_command::no_command;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() != 0 && option->get_name() != "--pid")
      fail(exit_code::usage, "{} uses the options of the running recording: leave out {}", arguments.front(),
           option->get_name());
  }
  return arguments.front() == "start" ? recording_command::start : recording_command::stop;
}

}  // namespace

void add_record(CLI::App& application, const std::vector<std::string>& after_dashes) {
  CLI::App* const command =
      application.add_subcommand("record", "Record a program's allocations, locks and system calls.");
  command->formatter(std::make_shared<record_formatter>());
  command->prefix_command();
  const auto request = std::make_shared<record_request>();
  command->add_option("-o,--output", request->output, "recording to write; default tarn.rec")->type_name("FILE");
  command->add_flag("--heap", request->records_heap,
                    "record allocations; --heap, --locks and --syscalls record only these sources; default: all three");
  command->add_flag("--locks", request->records_locks,
                    "record mutexes, reader-writer and spin locks, condition variables, semaphores");
  CLI::Option* const calls = command->add_flag("--syscalls", request->records_syscalls,
                                               "record system calls, including those of the C library");
  command->add_flag("--cpu", request->records_cpu,
                    "sample the stacks of threads on the processor, 199 times in each second that one runs");
  CLI::Option* const full = command->add_flag("--full", request->records_all,
                                              "count every allocation, lock and system call instead of sampling");
  command->add_flag(
      "--leaks", request->searches_leaks,
      "when the program exits, look for blocks that no pointer reaches; counts every allocation, as with --full");
  command->add_flag("--contents", request->searches_contents,
                    "at new peaks, look for unwritten and equal blocks; counts every allocation, as with --full");
  command
      ->add_option("--sample", request->interval,
                   fmt::format("mean bytes between samples (a block of N bytes counts as N + {}); default {}",
                               format::cost_of_a_block, default_interval))
      ->check(CLI::Range(std::uint64_t{1024}, std::uint64_t{1} << 30))
      ->type_name("BYTES")
      ->excludes(full);
  CLI::Option* const follow = command->add_flag("--follow", request->follows_children,
                                                "also record child processes, each in a file of its own: FILE.PID");
  command
      ->add_option(
          "--for", request->duration,
          "end the recording after this time: 30s, 500ms, 2min; the program goes on; with --pid: then leave it")
      ->type_name("TIME")
      ->excludes(follow);
  add_window_options(*command, *request);
  command
      ->add_option("--lib", request->library, "libtarn-record.so to use; default the one installed with this command")
      ->type_name("PATH");
  command->footer(
      "tarn record records the process that it starts, also after an exec. If PROGRAM is a shell or a\n"
      "launcher such as timeout or env, it keeps the recording of the child that used the most CPU time.\n"
      "With --follow the recording ends with the last process, or with a signal after the first has ended.\n"
      "Exit code and signals are the program's own; 2 for a wrong command line, 126 if the program cannot\n"
      "be recorded, 127 if it is not found; share/doc/tarn/reference/exit-codes.md has the others.");
  command
      ->add_option(
          "--pid", request->process,
          "record this running process until SIGINT; then remove the hooks, while the library stays loaded without "
          "effect; heap and locks, sampled; with start or stop: begin the next file, or end it")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->type_name("PID")
      ->excludes(full)
      ->excludes(follow)
      ->excludes(calls);
  for (const char* const search : {"--leaks", "--contents"}) {
    for (const char* const excluded : {"--sample", "--follow", "--for", "--every", "--continuous", "--pid"})
      command->get_option(search)->excludes(command->get_option(excluded));
  }
  command->callback([request, command, &after_dashes] {
    complete_windows(*request);
    if (request->process != 0) {
      if (const recording_command control_command = command_in(*command);
          control_command != recording_command::no_command) {
        return command_recorder(request->process, control_command);
      }
      if (!command->remaining().empty() || !after_dashes.empty())
        fail(exit_code::usage, "--pid and PROGRAM exclude each other; see tarn record --help");
      return record_attached(*request);
    }
    if (request->searches_heap() && !request->records_heap &&
        (request->records_locks || request->records_syscalls || request->records_cpu))
      fail(exit_code::usage, "{} needs --heap", request->searches_leaks ? "--leaks" : "--contents");
    if (request->records_all && request->records_cpu && !request->records_heap && !request->records_locks &&
        !request->records_syscalls)
      fail(exit_code::usage, "--full needs --heap, --locks or --syscalls beside --cpu, which always samples");
    record(*request, program_arguments(*command, after_dashes));
  });
}

}  // namespace tarn::command
