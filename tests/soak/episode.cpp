#include "episode.hpp"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "../support/call_filter.h"
#include "actors.hpp"

namespace soak {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t mebibyte = 1 << 20;

void limit_resource(int resource, rlim_t value) {
  rlimit limit;
  require(getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0, "getrlimit\n");
  limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
  require(setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0, "setrlimit\n");
}

// Leaves the process about so many mappings. Every second page differs in its access, so that no two merge.
void hog_mappings(std::size_t left) {
  constexpr std::size_t hog_pages = 70'000;
  auto* const hog = static_cast<char*>(
      mmap(nullptr, hog_pages * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (hog == MAP_FAILED) return;
  std::size_t pages = 0;
  while (pages + 2 <= hog_pages && mprotect(hog + pages * page_bytes, page_bytes, PROT_READ) == 0) pages += 2;
  const std::size_t given_back = pages < left ? pages : left;
  munmap(hog + (pages - given_back) * page_bytes, given_back * page_bytes);
  if (pages + 2 <= hog_pages) munmap(hog + pages * page_bytes, (hog_pages - pages) * page_bytes);
}

void change_identity() {
  constexpr unsigned nobody = 65534;
  if (geteuid() == 0) {
    require(setgroups(0, nullptr) == 0 && setresgid(nobody, nobody, nobody) == 0, "setgid\n");
    require(setresuid(nobody, nobody, nobody) == 0, "setuid\n");
  }
}

// Makes a call of the system fail that the heaps can do without, or whose failure means that memory is scarce.
void refuse_one_call(random& dice) {
  const struct {
    int number;
    int error;
  } calls[] = {{SYS_membarrier, EPERM}, {SYS_mremap, ENOMEM}, {SYS_mremap, ENOSYS},   {SYS_madvise, EINVAL},
               {SYS_madvise, EPERM},    {SYS_munmap, ENOMEM}, {SYS_mprotect, ENOMEM}, {SYS_getrandom, ENOSYS}};
  const auto& call = calls[dice.next_below(sizeof calls / sizeof *calls)];
  require(refuse_call(call.number, call.error) == 0, "a filter is refused\n");
}

// ------------------------------------------------------- forks in a handler

volatile sig_atomic_t handled = 0;

// The process has one thread, so that a handler may fork wherever it interrupts malloc. The child may end there, or
// finish the call that was interrupted and go on.
void fork_in_handler(int) {
  const int saved = errno;
  const pid_t child = fork();
  if (child == 0) {
    is_child = true;
    if (handled % 3 == 0) _exit(0);
    return;
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  require(child < 0 || status == 0, "the child of a handler went wrong\n");
  handled = handled + 1;
  errno = saved;
}

void work_with_forking_handler(random& dice) {
  struct sigaction action = {};
  action.sa_handler = fork_in_handler;
  action.sa_flags = SA_RESTART;
  require(sigaction(SIGPROF, &action, nullptr) == 0, "sigaction\n");
  const itimerval often = {{0, 2000}, {0, 2000}};
  require(setitimer(ITIMER_PROF, &often, nullptr) == 0, "setitimer\n");
  while (handled < 40) {
    work(dice, 100);
    if (is_child) {
      empty_slots(dice);
      _exit(0);
    }
  }
  const itimerval never = {};
  require(setitimer(ITIMER_PROF, &never, nullptr) == 0, "setitimer\n");
}

// ---------------------------------------------------------------- the actors

struct conditions {
  bool limits_address_space, limits_data, hogs_mappings, locks_memory, changes_identity, filters_a_call,
      limits_descriptors;
};

// Half of the conditions hold from the start, the others when the actors are at work.
void impose(const conditions& chosen_conditions, random& dice) {
  if (chosen_conditions.limits_address_space) limit_resource(RLIMIT_AS, (200 + dice.next_below(600)) * mebibyte);
  if (chosen_conditions.limits_data) limit_resource(RLIMIT_DATA, (60 + dice.next_below(300)) * mebibyte);
  if (chosen_conditions.hogs_mappings) {
    hog_mappings(dice.next_below(4) == 0 ? dice.next_below(20) : dice.next_below(1500));
  }
  if (chosen_conditions.locks_memory) {  // refused where the limit on locked memory is low
    static_cast<void>(!mlockall(dice.next_below(2) == 0 ? MCL_FUTURE : MCL_CURRENT | MCL_FUTURE));
  }
  if (chosen_conditions.limits_descriptors) limit_resource(RLIMIT_NOFILE, 0);
  if (chosen_conditions.changes_identity) change_identity();
  if (chosen_conditions.filters_a_call) refuse_one_call(dice);
}

bool draw(random& dice) { return dice.next_below(5) == 0; }

}  // namespace

std::vector<std::string> episode_options(std::uint64_t seed) {
  random dice(seed);
  const std::vector<std::string> known_options = {
      "TARN_PURGE_DELAY_MS=0",  "TARN_PURGE_DELAY_MS=1",  "TARN_PURGE_DELAY_MS=20",
      "TARN_SAMPLE_GUARDS=1",   "TARN_SAMPLE_GUARDS=200", "TARN_LIMIT=200M",
      "TARN_INCREMENT=2M",      "TARN_INITIAL=3M",        "TARN_THP=on",
      "TARN_BACKGROUND_PURGE=0"};
  std::vector<std::string> options;
  for (const std::string& option : known_options) {
    if (dice.next_below(6) == 0) options.push_back(option);
  }
  return options;
}

int run_episode(std::uint64_t seed) {
  random dice(seed);
  alarm(600);  // a hang ends here
  choose_mixture(seed);
  is_scarce = true;
  if (dice.next_below(12) == 0) {
    work_with_forking_handler(dice);
    empty_slots(dice);
    return 0;
  }
  load_unwinder();
  conditions first_conditions = {};
  conditions later_conditions = {};
  for (bool conditions::*const condition :
       {&conditions::limits_address_space, &conditions::limits_data, &conditions::hogs_mappings,
        &conditions::locks_memory, &conditions::changes_identity, &conditions::filters_a_call,
        &conditions::limits_descriptors}) {
    (dice.next_below(2) == 0 ? first_conditions : later_conditions).*condition = draw(dice);
  }
  if (dice.next_below(4) == 0) limit_resource(RLIMIT_STACK, 128 << 10);
  impose(first_conditions, dice);
  start_actors({.seed = seed % 100'000, .sends_signals = dice.next_below(2) == 0});
  usleep(static_cast<useconds_t>(dice.next_below(200'000)));
  impose(later_conditions, dice);
  work(dice, 3000);
  usleep(static_cast<useconds_t>(dice.next_below(200'000)));
  end_actors();
  malloc_trim(0);
  return 0;
}

}  // namespace soak
