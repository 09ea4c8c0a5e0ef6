// Everything at once for a long time, on the drop-in: threads that start, end, sleep and are cancelled, frees by other
// threads, heap objects, forks, signals. One process goes on for the whole time, and its memory must stay flat. Beside
// it, short episodes begin in new processes under limits, filters and options that cannot be taken back.
//
//   soak SECONDS [SEED]     prints the events; the first failure ends it and names the command that repeats the part
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "../programs/check.h"
#include "actors.hpp"
#include "episode.hpp"

namespace soak {
namespace {

// ------------------------------------------------------------------- steady

/// The memory that a process keeps beside its heaps may grow by this: stacks of threads, caches of the C library, slabs
/// of which one block is in use.
constexpr std::size_t slack_bytes = std::size_t{24} << 20;
constexpr int warm_up_rests = 2;

std::size_t settled_bytes = 0;
int rests = 0;

// Waits until resident memory is as little as before. Freed memory goes back after a while.
void expect_flat_memory() {
  const std::size_t limit = settled_bytes + settled_bytes / 4 + slack_bytes;
  malloc_trim(0);
  std::size_t now = resident_bytes();
  if (rests++ < warm_up_rests) {
    settled_bytes = now > settled_bytes ? now : settled_bytes;
    return;
  }
  for (unsigned tenths = 0; now > limit && tenths < 10 * hang_seconds(); ++tenths) {
    usleep(100'000);
    malloc_trim(0);
    now = resident_bytes();
  }
  if (now > limit) {
    std::fprintf(stderr, "memory grows: %zu KiB resident at rest %d, %zu KiB after the warm-up\n", now >> 10, rests,
                 settled_bytes >> 10);
    std::abort();
  }
}

std::time_t now_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

bool has_seen_all_events() {
  return event_counts.cancelled > 0 && event_counts.forks > 0 && event_counts.releases > 0 &&
         event_counts.signals > 0 && event_counts.sleeps > 0 && rests > warm_up_rests;
}

int run_steady(std::time_t seconds, std::uint64_t seed) {
  const std::time_t end = now_seconds() + seconds;
  const unsigned pause_seconds = static_cast<unsigned>(seconds < 60 ? 1 : seconds < 600 ? 10 : 60);
  start_actors({.seed = seed});
  while (now_seconds() < end || !has_seen_all_events()) {
    for (std::time_t next = now_seconds() + pause_seconds; now_seconds() < next;) usleep(100'000);
    choose_mixture(static_cast<std::uint64_t>(rests));
    inspect_at_rest(expect_flat_memory);
  }
  end_actors();
  std::printf(
      "steady: %llu operations, %llu threads, %llu forks, %llu releases, %llu signals, %d rests, %zu KiB resident\n",
      static_cast<unsigned long long>(event_counts.operations), static_cast<unsigned long long>(event_counts.threads),
      static_cast<unsigned long long>(event_counts.forks), static_cast<unsigned long long>(event_counts.releases),
      static_cast<unsigned long long>(event_counts.signals), rests, resident_bytes() >> 10);
  return 0;
}

// --------------------------------------------------------------- supervision

struct part {
  std::string repeat;  ///< the command of this part alone
  pid_t process = -1;
};

part start_part(const char* program, const std::vector<std::string>& program_arguments,
                const std::vector<std::string>& options) {
  part started;
  for (const std::string& option : options) started.repeat += option + " ";
  started.repeat += program;
  for (const std::string& word : program_arguments) started.repeat += " " + word;
  started.process = fork();
  require(started.process >= 0, "fork\n");
  if (started.process == 0) {
    for (const std::string& option : options) putenv(const_cast<char*>(option.c_str()));
    std::vector<char*> arguments{const_cast<char*>(program)};
    for (const std::string& word : program_arguments) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    _exit(126);
  }
  return started;
}

bool ended_well(const part& ended_part, int status) {
  if (status == 0) return true;
  std::fprintf(stderr, "soak: %s %d in\n  %s\n", WIFSIGNALED(status) ? "signal" : "exit",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), ended_part.repeat.c_str());
  return false;
}

int supervise(const char* program, std::time_t seconds, std::uint64_t seed) {
  const std::time_t end = now_seconds() + seconds;
  const part steady = start_part(program, {"--steady", std::to_string(seconds), std::to_string(seed)}, {});
  unsigned long long episodes = 0;
  bool has_succeeded = true;
  int status = 0;
  bool is_steady_over = false;
  for (; has_succeeded && now_seconds() < end; ++episodes) {
    const std::uint64_t number = seed * 1'000'000 + episodes;
    const part started = start_part(program, {"--episode", std::to_string(number)}, episode_options(number));
    require(waitpid(started.process, &status, 0) == started.process, "waitpid\n");
    has_succeeded = ended_well(started, status);
    if (has_succeeded && waitpid(steady.process, &status, WNOHANG) == steady.process) {
      is_steady_over = true;
      has_succeeded = ended_well(steady, status);
      break;
    }
  }
  if (!is_steady_over) {
    if (!has_succeeded) kill(steady.process, SIGKILL);
    require(waitpid(steady.process, &status, 0) == steady.process, "waitpid\n");
    has_succeeded = has_succeeded && ended_well(steady, status);
  }
  std::printf("soak: %llu episodes, seed %llu\n", episodes, static_cast<unsigned long long>(seed));
  return has_succeeded ? 0 : 1;
}

}  // namespace
}  // namespace soak

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (count == 4 && std::strcmp(arguments[1], "--steady") == 0) {
    return soak::run_steady(std::atol(arguments[2]), std::strtoull(arguments[3], nullptr, 10));
  }
  if (count == 3 && std::strcmp(arguments[1], "--episode") == 0) {
    return soak::run_episode(std::strtoull(arguments[2], nullptr, 10));
  }
  if (count < 2 || count > 3) {
    std::fputs("usage: soak SECONDS [SEED]\n", stderr);
    return 2;
  }
  const std::uint64_t seed =
      count == 3 ? std::strtoull(arguments[2], nullptr, 10) : static_cast<std::uint64_t>(time(nullptr)) % 1'000'000;
  return soak::supervise(arguments[0], std::atol(arguments[1]), seed);
}
