// Runs code in a child process and reports how it ended: for faults, whose text must be exact, and for actions that
// are possible only once in a process. It is quicker than a death test of GoogleTest, and addresses are the same in
// the child.
#pragma once

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>

namespace support {

struct ending {
  int signal = 0;     ///< 0: none
  int status = 0;     ///< the exit status, when there was no signal
  std::string error;  ///< the text on standard error

  friend bool operator==(const ending&, const ending&) = default;
  friend std::ostream& operator<<(std::ostream& out, const ending& result) {
    return out << "signal " << result.signal << ", status " << result.status << ", standard error:\n" << result.error;
  }
};

/// The calling process must have one thread. The child ends with the result of `body`, or with 0.
template <class Body>
ending in_child(Body body) {
  std::fflush(nullptr);
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      _exit(0);
    } else {
      _exit(body());
    }
  }
  close(ends[1]);
  ending result;
  char bytes[4096];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof bytes)) > 0;) {
    result.error.append(bytes, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  // QEMU, which runs the tests of another processor, adds a line when a signal ends a program.
  if (const std::size_t start = result.error.find("qemu: uncaught target signal "); start != std::string::npos) {
    result.error.erase(start);
  }
  int wait_status = 0;
  waitpid(child, &wait_status, 0);
  if (WIFSIGNALED(wait_status)) {
    result.signal = WTERMSIG(wait_status);
  } else {
    result.status = WEXITSTATUS(wait_status);
  }
  return result;
}

/// Returns the ending of a program that a fault of Tarn stops. A fault of the heap writes its next step in a second
/// line.
inline ending fault(std::string line, std::string_view next_step = {}) {
  line += "\n";
  if (!next_step.empty()) line.append("tarn: ").append(next_step).append("\n");
  return {.signal = SIGABRT, .status = 0, .error = std::move(line)};
}

/// Replaces the numbers of threads, which a test cannot know, by N.
inline ending without_thread_numbers(ending reported) {
  constexpr std::string_view before = "thread ";
  for (std::size_t position = 0; (position = reported.error.find(before, position)) != std::string::npos;) {
    position += before.size();
    const std::size_t end = reported.error.find_first_not_of("0123456789", position);
    if (end != position) reported.error.replace(position, end - position, "N");
  }
  return reported;
}
/// Returns how such a message names a thread with the name of the calling one.
inline std::string named_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return "thread N \"" + std::string(name) + "\"";
}

/// Returns an address as fault messages write it.
inline std::string written(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%zx", reinterpret_cast<std::size_t>(address));
  return text;
}

}  // namespace support
