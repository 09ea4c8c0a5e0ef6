// pthread_atfork handlers of the program allocate and free, before and after the fork.
//@ broken-by fork_deadlock_handlers
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static void *made_before, *made_after;

static void prepare(void) {
  made_before = malloc(777);
  free(malloc(100000));
}
static void after(void) {
  free(made_before);
  made_after = malloc(777);
  free(made_after);
}
static void* churn(void* argument) {
  for (;;) free(malloc(777));
  return argument;
}

int main(void) {
  CHECK(pthread_atfork(prepare, after, after) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
  for (int i = 0; i < 200; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      free(malloc(50));
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return 0;
}
