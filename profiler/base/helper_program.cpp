#include "profiler/base/helper_program.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler/base/failure.hpp"
#include "profiler/base/memory_file.hpp"

namespace tarn::command {
namespace {

std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns false if the child has not ended after so long. Without pidfd_open (before Linux 5.3) there is no limit.
bool ends_within(pid_t child, std::chrono::milliseconds longest) {
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (watch < 0) return true;
  const auto end = std::chrono::steady_clock::now() + longest;
  pollfd exit_event = {watch, POLLIN, 0};
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    ready = ::poll(&exit_event, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  } while (ready < 0 && errno == EINTR);
  ::close(watch);
  return ready != 0;
}

// The state that the signal handler reads and writes.
volatile std::sig_atomic_t stop_signal = 0;
volatile std::sig_atomic_t helper_group = 0;
bool are_interruptible = false;
constexpr std::array stop_signals = {SIGINT, SIGTERM, SIGHUP};

void end_helper(int signal) {
  stop_signal = signal;
  if (helper_group > 0) ::kill(-helper_group, SIGTERM);
}

void require_no_stop() {
  if (are_interruptible && stop_signal != 0) fail(exit_code::interrupted, "ended by SIG{}", sigabbrev_np(stop_signal));
}

helper_result run(const std::vector<std::string>& command, std::string_view input, bool shows_errors,
                  char* const* environment, std::optional<std::chrono::milliseconds> longest) {
  const memory_file input_file, output_file, error_file;
  input_file.write(input);
  require_no_stop();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input_file.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_file.number(), STDOUT_FILENO);
  if (!shows_errors) posix_spawn_file_actions_adddup2(&files, error_file.number(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // In a group of its own, so that its children can be ended with it.
  if (are_interruptible) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, command.front().c_str(), &files, &attributes, pointers_of(command).data(), environment);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  helper_result result;
  result.code = 127;
  if (error != 0) return result;
  helper_group = are_interruptible ? child : 0;
  if (are_interruptible && stop_signal != 0) ::kill(-child, SIGTERM);
  result.is_late = longest && !ends_within(child, *longest);
  if (result.is_late) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  helper_group = 0;
  require_no_stop();
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = output_file.read();
  result.errors = error_file.read();
  return result;
}

}  // namespace

helper_result run_helper(const std::vector<std::string>& command, std::string_view input, bool shows_errors) {
  return run(command, input, shows_errors, environ, {});
}

helper_result run_helper(const std::vector<std::string>& command, std::string_view input, bool shows_errors,
                         const std::vector<std::string>& environment,
                         std::optional<std::chrono::milliseconds> longest) {
  return run(command, input, shows_errors, pointers_of(environment).data(), longest);
}

struct interruptible_helpers::old_actions {
  std::array<struct sigaction, stop_signals.size()> actions;
};

interruptible_helpers::interruptible_helpers() : old_actions_(std::make_unique<old_actions>()) {
  stop_signal = 0;
  are_interruptible = true;
  for (std::size_t index = 0; index < stop_signals.size(); ++index) {
    struct sigaction& old_action = old_actions_->actions[index];
    ::sigaction(stop_signals[index], nullptr, &old_action);
    if (old_action.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = end_helper;
    ::sigaction(stop_signals[index], &action, nullptr);
  }
}

interruptible_helpers::~interruptible_helpers() {
  are_interruptible = false;
  for (std::size_t index = 0; index < stop_signals.size(); ++index)
    ::sigaction(stop_signals[index], &old_actions_->actions[index], nullptr);
}

}  // namespace tarn::command
