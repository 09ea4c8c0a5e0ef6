// The allocator installs no handler, leaves the signal mask alone and blocks nothing for good.
//@ broken-by blocks_signals installs_handler
#include <signal.h>
#include "../check.h"

int main(void) {
  for (int round = 0; round < 2; ++round) {
    sigset_t mask;
    CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    for (int number = 1; number < 65; ++number) {
      struct sigaction action;
      if (sigaction(number, NULL, &action) != 0 || number == SIGPIPE) continue;
      CHECK(action.sa_handler == SIG_DFL);
      CHECK(sigismember(&mask, number) == 0);
    }
    for (size_t size = 1; size < 20000000; size *= 2) free(malloc(size));
  }
  return 0;
}
