// Ends of a process while threads allocate.
#include <pthread.h>
#include <sys/wait.h>

#include "../cases.h"

static void* churn_sizes(void* argument) {
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

// exit from main and from a thread while others allocate, with detached threads still running.
//@ broken-by exit_closed
CASE(exit_while_allocating) {
  for (int round = 0; round < 60; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      atexit(at_end);
      pthread_t thread;
      for (int i = 0; i < 3; ++i) {
        CHECK(pthread_create(&thread, NULL, churn_sizes, NULL) == 0 && pthread_detach(thread) == 0);
      }
      if (round % 2) {
        CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
        churn_sizes(NULL);
      }
      usleep(1000);
      exit(7);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
}

static void* churn_medium(void* argument) {
  for (;;) free(malloc(3000));
  return argument;
}

// _exit and abort in the middle of allocation by many threads end the process at once.
//@ broken-by catches_abort
CASE(immediate_exit) {
  for (int round = 0; round < 60; ++round) {
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      pthread_t thread;
      for (int i = 0; i < 4; ++i) CHECK(pthread_create(&thread, NULL, churn_medium, NULL) == 0);
      usleep(500);
      if (round % 2) abort();
      _exit(3);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(round % 2 ? WIFSIGNALED(status) && WTERMSIG(status) == 6 : WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
}

static void* churn_small(void* argument) {
  for (;;) free(malloc(300));
  return argument;
}

static void at_quick_end(void) {
  for (size_t i = 0; i < 3000; ++i) {
    char* p = malloc(i * 100 + 1);
    CHECK(p != NULL);
    p[i * 100] = 1;
    free(p);
  }
}

// quick_exit: its handlers allocate, the exit status arrives.
//@ exit 9
//@ broken-by quick_exit_closed
CASE(quick_exit) {
  CHECK(at_quick_exit(at_quick_end) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, churn_small, NULL) == 0);
  for (int i = 0; i < 3000; ++i) free(malloc(10));
  quick_exit(9);
}
