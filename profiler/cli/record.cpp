// The options of `tarn record`.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/record_request.hpp"
#include "profiler/format/part.hpp"

namespace tarn::command {
namespace {

class record_formatter : public help_formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: tarn record [OPTIONS] -- PROGRAM [ARGS...]\n       tarn record [OPTIONS] --pid PID\n"
           "       tarn record --pid PID start|stop\n";
  }
};

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

bool can_dispatch() {
#if defined(__x86_64__)
  return ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) == 0;  // changes nothing: it is off
#else
  return false;
#endif
}

}  // namespace

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
    print_error("tarn: system calls are not recorded: {}\n", reason);
    sources &= ~source_bit(call_kind);
  }
  return sources;
}

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
    record_program(*request, program_arguments(*command, after_dashes));
  });
}

}  // namespace tarn::command
