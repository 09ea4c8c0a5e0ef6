// A library that is loaded with the program has fork handlers from before the first malloc: they allocate, and take a
// lock under which other threads allocate.
//@ broken-by fork_deadlock_handlers
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

#ifndef FORKS
#define FORKS 30
#endif

void library_works(void);

static void* work(void* argument) {
  for (;;) library_works();
  return argument;
}

int main(void) {
  free(malloc(777));  // a late allocator installs its handlers now
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  for (int i = 0; i < FORKS; ++i) {
    alarm(hang_seconds());
    pid_t child = fork();
    if (child == 0) {
      alarm(hang_seconds());
      library_works();
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return 0;
}
