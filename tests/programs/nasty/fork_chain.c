// A chain of twelve generations, each made by a thread of the one before: the caller lives on alone.
//@ broken-by fork_deadlock tls_dead
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static void* churn(void* argument) {
  for (;;) free(malloc(300));
  return argument;
}

static void* generation(void* argument) {
  uintptr_t left = (uintptr_t)argument;
  char* p = malloc(5000);
  CHECK(p != NULL);
  fill(p, 5000, (unsigned)left);
  pthread_t churner;
  CHECK(pthread_create(&churner, NULL, churn, NULL) == 0);  // somebody is always inside malloc
  usleep(200);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(hang_seconds());
    CHECK(is_filled(p, 5000, (unsigned)left));
    free(p);
    if (left > 0) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, generation, (void*)(left - 1)) == 0);
      CHECK(pthread_join(thread, NULL) == 0);
    }
    exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  free(p);
  return NULL;
}

int main(void) {
  generation((void*)12);
  return 0;
}
