#include "profiler/lab/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace tarn::lab {
namespace {

using std::chrono::steady_clock;

// This is the list of bench/runner/peers.py, and Tarn's own.
constexpr std::array<std::string_view, 8> tuning = {
    "LD_PRELOAD=", "GLIBC_TUNABLES=", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_", "TARN_", "_RJEM_"};

std::vector<std::string> environment_of(const std::vector<std::string>& additional) {
  std::vector<std::string> variables = additional;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view word = *variable;
    bool tunes = false;
    for (const std::string_view prefix : tuning) tunes = tunes || word.starts_with(prefix);
    if (!tunes) variables.emplace_back(word);
  }
  return variables;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

// One end for the program, one for us.
struct pipe_ends {
  std::array<int, 2> ends = {-1, -1};
  pipe_ends() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;
  ~pipe_ends() {
    close(0);
    close(1);
  }
  void close(std::size_t which) {
    if (ends.at(which) >= 0) ::close(ends.at(which));
    ends.at(which) = -1;
  }
};

// Reads both until they end, or until `end`; returns false then.
bool read_all(pipe_ends& output, pipe_ends& errors, process_result& process, steady_clock::time_point end) {
  std::array<pollfd, 2> wait = {pollfd{output.ends[0], POLLIN, 0}, pollfd{errors.ends[0], POLLIN, 0}};
  std::array<char, 1 << 14> part;
  while (wait[0].fd >= 0 || wait[1].fd >= 0) {
    const auto milliseconds_left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (milliseconds_left <= 0) return false;
    if (::poll(wait.data(), wait.size(), static_cast<int>(milliseconds_left)) < 0 && errno != EINTR) return false;
    for (std::size_t index = 0; index < wait.size(); ++index) {
      if (wait.at(index).fd < 0 || wait.at(index).revents == 0) continue;
      const ssize_t bytes_read = ::read(wait.at(index).fd, part.data(), part.size());
      if (bytes_read > 0)
        (index == 0 ? process.output : process.errors).append(part.data(), static_cast<std::size_t>(bytes_read));
      if (bytes_read == 0 || (bytes_read < 0 && errno != EINTR)) wait.at(index).fd = -1;
    }
  }
  return true;
}

}  // namespace

process_result run_program(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                           std::chrono::seconds longest) {
  process_result process;
  pipe_ends output, errors;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.ends[1], STDERR_FILENO);
  const std::vector<std::string> variables = environment_of(environment);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words.front().c_str(), &files, nullptr, pointers(words).data(),
                                   pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    process.code = 127;
    return process;
  }
  output.close(1);
  errors.close(1);
  if (!read_all(output, errors, process, steady_clock::now() + longest)) {
    process.is_late = true;
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  process.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return process;
}

std::string last_line(const std::string& errors) {
  const std::size_t end = errors.find_last_not_of("\n ");
  if (end == std::string::npos) return {};
  const std::size_t begin = errors.find_last_of('\n', end);
  return errors.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace tarn::lab
