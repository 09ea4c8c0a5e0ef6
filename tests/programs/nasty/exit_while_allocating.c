// exit from main and from a thread while others allocate, with detached threads still running.
//@ broken-by exit_closed
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static void* churn(void* argument) {
  for (unsigned state = 1;;) {
    char* p = malloc(next_random(&state) % 9000 + 1);
    CHECK(p != NULL);
    *p = 1;
    free(p);
  }
  return argument;
}

static void* leave(void* argument) {
  usleep(2000);
  exit(7);
  return argument;
}

static void at_end(void) {
  for (int i = 0; i < 3000; ++i) free(malloc((size_t)i));
}

int main(void) {
  for (int round = 0; round < 60; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      atexit(at_end);
      pthread_t thread;
      for (int i = 0; i < 3; ++i) {
        CHECK(pthread_create(&thread, NULL, churn, NULL) == 0 && pthread_detach(thread) == 0);
      }
      if (round % 2) {
        CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
        churn(NULL);
      }
      usleep(1000);
      exit(7);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  return 0;
}
