#include "profiler/base/helper_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

class memory_file {
 public:
  memory_file() : file_(::memfd_create("tarn", MFD_CLOEXEC)) {
    if (file_ < 0) fail(exit_code::no_memory, "no memory for a temporary file: {}", system_error_text(errno));
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(file_); }

  int number() const { return file_; }

  void write(std::string_view content) const {
    while (!content.empty()) {
      const ssize_t written = ::write(file_, content.data(), content.size());
      if (written < 0 && errno != EINTR)
        fail(exit_code::no_memory, "no memory for a temporary file: {}", system_error_text(errno));
      if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(file_, 0, SEEK_SET);
  }

  std::string read() const {
    ::lseek(file_, 0, SEEK_SET);
    std::string content;
    std::array<char, 1 << 16> part;
    for (ssize_t bytes_read = 0; (bytes_read = ::read(file_, part.data(), part.size())) != 0;) {
      if (bytes_read > 0) content.append(part.data(), static_cast<std::size_t>(bytes_read));
      if (bytes_read < 0 && errno != EINTR) break;
    }
    return content;
  }

 private:
  int file_;
};

}  // namespace

helper_result run_helper(const std::vector<std::string>& command, std::string_view input, bool shows_errors) {
  const memory_file input_file, output_file;
  input_file.write(input);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input_file.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output_file.number(), STDOUT_FILENO);
  if (!shows_errors) posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, command.front().c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return {127, {}};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output_file.read()};
}

}  // namespace tarn::command
