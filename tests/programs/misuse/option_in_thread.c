// A malformed option is named once, not once a thread and not again in a child.
//@ tarn-only
//@ env TARN_BACKGROUND_PURGE=x
//@ stderr tarn: option TARN_BACKGROUND_PURGE=x: not one of 0, 1, off, on; 1 is used
#include <pthread.h>
#include <sys/wait.h>
#include "../check.h"

static void* work(void* argument) {
  free(malloc(100));
  return argument;
}

int main(void) {
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(waitpid(child, NULL, 0) == child);
  return 0;
}
