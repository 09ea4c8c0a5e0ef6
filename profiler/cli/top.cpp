// `tarn top`: shows the present activity of a recorded program on a terminal.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/shell_word.hpp"
#include "profiler/cli/commands.hpp"
#include "profiler/cli/option_text.hpp"
#include "profiler/collect/attach.hpp"
#include "profiler/launch/program.hpp"
#include "profiler/launch/start.hpp"
#include "profiler/top/heaps.hpp"
#include "profiler/top/recording.hpp"
#include "profiler/top/screen.hpp"
#include "profiler/top/state.hpp"

namespace tarn::command {
namespace {

using steady = std::chrono::steady_clock;

struct top_request {
  pid_t process = 0;
  double interval = 1;  // seconds
  std::string output = "/dev/null", log = "/dev/null";
};

volatile std::sig_atomic_t must_quit = 0;
void quit(int) { must_quit = 1; }

void check_log(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) fail(exit_code::io_error, "--log: {}: {}", path, system_error_text(errno));
  ::close(file);
}

// Runs our own `tarn record`. Its program ends with us.
class own_recorder {
 public:
  own_recorder(const top_request& request, const std::vector<std::string>& program_line) {
    std::vector<std::string> command_line = {"tarn", "record", "-o", request.output, "--"};
    command_line.insert(command_line.end(), program_line.begin(), program_line.end());
    std::vector<char*> arguments;
    for (const std::string& argument : command_line) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, request.log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    // It leaves the terminal's process group: the keys are for us.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error = ::posix_spawn(&process_, "/proc/self/exe", &files, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) fail(exit_code::cannot_run, "{}: {}", program_line.front(), system_error_text(error));
  }
  own_recorder(const own_recorder&) = delete;
  own_recorder& operator=(const own_recorder&) = delete;
  ~own_recorder() {
    if (has_ended()) return;
    ::kill(process_, SIGTERM);  // forwarded to the program
    for (int left = 200; left > 0 && !has_ended(); --left) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  pid_t process() const { return process_; }
  bool has_ended() {
    if (!has_ended_) has_ended_ = ::waitpid(process_, &status_, WNOHANG) == process_;
    return has_ended_;
  }
  int code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

 private:
  pid_t process_ = 0;
  int status_ = 0;
  bool has_ended_ = false;
};

// Waits until the program has its first thread. Throws if it ended before, with the code of `tarn record` if that is
// one of its own.
recorded_process wait_for_program(own_recorder& recorder, const std::string& name, const std::string& output) {
  for (;;) {
    recorded_process recording;
    try {
      recording = find_recorded_by(recorder.process());
    } catch (const failure&) {  // the recorder is just ending
    }
    if (!recording.region.empty()) return recording;
    if (recorder.has_ended()) {
      const bool is_own = recorder.code() >= static_cast<int>(exit_code::usage) &&
                          recorder.code() <= static_cast<int>(exit_code::missing);
      fail(is_own ? static_cast<exit_code>(recorder.code()) : exit_code::cannot_run,
           "{} ended at once with exit code {}; run tarn record -o {} -- {} to see why", name, recorder.code(),
           shell_word(output), shell_word(name));
    }
    if (must_quit != 0) fail(exit_code::interrupted, "stopped");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void show(const top_request& request, pid_t process, const std::string& title, std::unique_ptr<top_source> source,
          own_recorder* recorder) {
  top_state state(fmt::format("{} {}", process, title), std::move(source));
  top_screen screen;
  const auto pause = std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(request.interval));
  auto last = steady::now(), due = last;
  bool is_first = true;
  bool has_shown_end = false;  // the last refresh after the end is done
  while (!state.wants_to_quit() && must_quit == 0) {
    if (steady::now() >= due && !has_shown_end) {
      const auto begun = steady::now();
      const process_facts facts = facts_of(process);
      state.look(std::chrono::duration<double>(begun - last).count(), facts);
      if (!state.is_paused()) last = begun;
      if (recorder != nullptr) recorder->has_ended();  // so that no process waits to be reaped
      has_shown_end = !facts.is_running && !state.is_paused();
      // A large recording takes a while to read: at most a tenth of a processor goes into it.
      due = begun + std::max(std::exchange(is_first, false)
                                 ? std::min<steady::duration>(pause, std::chrono::milliseconds(500))
                                 : pause,
                             10 * (steady::now() - begun));
    }
    screen.draw(state);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - steady::now()).count();
    screen.wait(state, has_shown_end ? 1000 : static_cast<int>(std::clamp<std::int64_t>(left, 1, 1000)));
  }
}

void show(const top_request& request, const recorded_process& recording, own_recorder* recorder) {
  auto source = std::make_unique<top_recording>(recording);
  const std::string title = source->title();
  show(request, recording.process, title, std::move(source), recorder);
}

// Shows the recorded events, or the heaps of Tarn if nothing is recorded.
void show_running(const top_request& request) {
  if (const recorded_process recording = find_recorded(request.process); !recording.region.empty()) {
    return show(request, recording, nullptr);
  }
  const std::optional<process_heaps> recording = process_heaps::find(request.process);
  if (!recording) {
    fail(exit_code::io_error,
         "process {} is neither recorded nor running on Tarn's heaps; use tarn top -- PROGRAM or tarn run -- PROGRAM",
         request.process);
  }
  auto source = std::make_unique<top_heaps>(request.process, *recording);
  const std::string title = source->title();
  show(request, request.process, title, std::move(source), nullptr);
}

void top(const top_request& request, const std::vector<std::string>& arguments) {
  struct sigaction action {};
  action.sa_handler = quit;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  if (request.process != 0) return show_running(request);
  const std::string& name = arguments.front();
  check_preloadable(name, find_program(name), "libtarn-record.so");
  if (::isatty(STDOUT_FILENO) != 1)
    fail(exit_code::missing, "tarn top needs a terminal; without one use tarn record and tarn report");
  check_log(request.log);
  own_recorder recorder(request, arguments);
  show(request, wait_for_program(recorder, name, request.output), &recorder);
}

class top_formatter : public help_formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: tarn top [OPTIONS] -- PROGRAM [ARGS...]\n       tarn top --pid PID\n";
  }
};

}  // namespace

void add_top(CLI::App& application, const std::vector<std::string>& after_dashes) {
  CLI::App* const command =
      application.add_subcommand("top", "Watch a running program: allocations, lock waits, system calls.");
  command->formatter(std::make_shared<top_formatter>());
  command->prefix_command();
  const auto request = std::make_shared<top_request>();
  CLI::Option* const process =
      command
          ->add_option("--pid", request->process,
                       "process to watch: a recorded program, its tarn record, or a program on Tarn's heaps")
          ->check(CLI::Range(1, 1 << 22))
          ->type_name("PID");
  command->add_option("--interval", request->interval, "seconds between two snapshots; default 1")
      ->check(refuse_unless_positive)
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS");
  command->add_option("-o,--output", request->output, "also keep the recording in FILE")
      ->type_name("FILE")
      ->excludes(process);
  command->add_option("--log", request->log, "write the output of PROGRAM to FILE; default discard it")
      ->type_name("FILE")
      ->excludes(process);
  command->footer("tarn top records PROGRAM as tarn record does, and ends it on exit. Press ? for the keys.");
  command->callback([request, command, &after_dashes] {
    top(*request, request->process != 0 ? std::vector<std::string>() : program_arguments(*command, after_dashes));
  });
}

}  // namespace tarn::command
