// _exit and abort in the middle of allocation by many threads end the process at once.
//@ broken-by catches_abort
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static void* churn(void* argument) {
  for (;;) free(malloc(3000));
  return argument;
}

int main(void) {
  for (int round = 0; round < 60; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      pthread_t thread;
      for (int i = 0; i < 4; ++i) CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
      usleep(500);
      if (round % 2) abort();
      _exit(3);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(round % 2 ? WIFSIGNALED(status) && WTERMSIG(status) == 6 : WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  return 0;
}
