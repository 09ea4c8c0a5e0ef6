// A program of one thread forks in a signal handler that interrupts malloc and free. Some children end there; others
// return from the handler, finish the call that was interrupted, and go on.
//@ broken-by fork_deadlock_handlers
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "../check.h"

enum { slots = 200, forks_wanted = 150 };
static volatile sig_atomic_t forks, is_child;

static void fork_here(int number) {
  (void)number;
  const int saved = errno;
  if (is_child || forks == forks_wanted) return;
  forks = forks + 1;
  const pid_t child = fork();
  if (child == 0) {
    alarm(hang_seconds());
    if (forks % 2 == 0) _exit(0);
    is_child = 1;
  } else {
    int status = -1;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    alarm(hang_seconds());
  }
  errno = saved;
}

// Mostly what needs a lock of the allocator: blocks of their own, and new memory for small ones.
static void churn(unsigned* state) {
  static char* block[slots];
  const unsigned slot = next_random(state) % slots;
  free(block[slot]);
  const size_t bytes = next_random(state) % 4 == 0 ? next_random(state) % 300 + 1 : next_random(state) % 500000 + 1;
  block[slot] = (char*)malloc(bytes);
  CHECK(block[slot] != NULL);
  block[slot][0] = block[slot][bytes - 1] = 1;
}

int main(void) {
  free(malloc(777));  // a late allocator installs its handlers now
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = fork_here;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGVTALRM, &action, NULL) == 0);
  const struct itimerval often = {{0, 1000}, {0, 1000}};  // of processor time, so that it always makes progress
  CHECK(setitimer(ITIMER_VIRTUAL, &often, NULL) == 0);
  alarm(hang_seconds());
  unsigned state = 1;
  int left = 300;  // calls of a child
  while (forks < forks_wanted && left != 0) {
    churn(&state);
    if (is_child) --left;
  }
  return 0;
}
