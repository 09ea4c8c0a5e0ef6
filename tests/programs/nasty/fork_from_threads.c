// Two threads fork at the same time while they allocate; every child starts threads of its own.
//@ broken-by fork_deadlock
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static void* allocate(void* argument) {
  for (size_t i = 0; i < 500; ++i) free(malloc(i * 7 + 1));
  return argument;
}

static void* churn(void* argument) {
  for (;;) free(malloc(300));
  return argument;
}

static void* forks(void* argument) {
  for (int i = 0; i < 40; ++i) {
    void* before[50];
    for (int j = 0; j < 50; ++j) before[j] = malloc((size_t)j * 100 + 1);
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      pthread_t threads[3];
      for (int j = 0; j < 3; ++j) CHECK(pthread_create(&threads[j], NULL, allocate, NULL) == 0);
      for (int j = 0; j < 50; ++j) free(before[j]);
      for (int j = 0; j < 3; ++j) CHECK(pthread_join(threads[j], NULL) == 0);
      exit(0);
    }
    for (int j = 0; j < 50; ++j) free(before[j]);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return argument;
}

int main(void) {
  pthread_t threads[2], other;
  CHECK(pthread_create(&other, NULL, churn, NULL) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, forks, NULL) == 0);
  allocate(NULL);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
