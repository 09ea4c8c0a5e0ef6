#include "tarn/helper.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "tarn/failure.hpp"

namespace tarn::command {
namespace {

class memory_file {
 public:
  memory_file() : file_(::memfd_create("tarn", MFD_CLOEXEC)) {
    if (file_ < 0) fail(exit_code::usage, "no memory for a file: {}", system_words(errno));
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(file_); }

  int number() const { return file_; }

  void write(std::string_view content) const {
    while (!content.empty()) {
      const ssize_t wrote = ::write(file_, content.data(), content.size());
      if (wrote < 0 && errno != EINTR) fail(exit_code::usage, "no memory for a file: {}", system_words(errno));
      if (wrote > 0) content.remove_prefix(static_cast<std::size_t>(wrote));
    }
    ::lseek(file_, 0, SEEK_SET);
  }

  std::string read() const {
    ::lseek(file_, 0, SEEK_SET);
    std::string content;
    std::array<char, 1 << 16> part;
    for (ssize_t got = 0; (got = ::read(file_, part.data(), part.size())) != 0;) {
      if (got > 0) content.append(part.data(), static_cast<std::size_t>(got));
      if (got < 0 && errno != EINTR) break;
    }
    return content;
  }

 private:
  int file_;
};

}  // namespace

helper_result run_helper(const std::vector<std::string>& words, std::string_view input, bool shows_errors) {
  const memory_file from, to;
  from.write(input);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, from.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, to.number(), STDOUT_FILENO);
  if (!shows_errors) posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words.front().c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return {127, {}};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), to.read()};
}

}  // namespace tarn::command
