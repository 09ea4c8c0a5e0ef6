// Options, malformed and well-formed.
//@ tarn-only
#include <pthread.h>
#include <sys/wait.h>

#include "../cases.h"

static void* work(void* argument) {
  free(malloc(100));
  return argument;
}

// A malformed option is named once, not once a thread and not again in a child.
//@ env TARN_BACKGROUND_PURGE=x
//@ stderr tarn[<int>] options: option TARN_BACKGROUND_PURGE=x: not one of 0, 1, off, on; 1 is used
CASE(option_in_thread) {
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  pid_t child = fork();
  if (child == 0) _exit(0);
  CHECK(waitpid(child, NULL, 0) == child);
}

// Every malformed or unknown option has its line; good ones beside them count.
//@ env TARN_THP=never
//@ env TARN_PURGE_DELAY_MS=0
//@ env TARN_INITIAL=x
//@ env TARN_LIMITS=1G
//@ stderr tarn[<int>] options: option TARN_THP=never: not one of auto, on, off; auto is used
//@ stderr tarn[<int>] options: option TARN_INITIAL=x: not a number of bytes from 0 to 140737488355328 (K, M, G, KiB,
//@ more MiB, GiB may follow); 0 is used
//@ stderr tarn[<int>] options: unknown option TARN_LIMITS; did you mean TARN_LIMIT?
CASE(option_several) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// Well-formed options are silent.
//@ broken-by TARN_STATS=x
//@ env TARN_PURGE_DELAY_MS=0
//@ env TARN_STATS=off
//@ env TARN_THP=off
//@ env TARN_LIMIT=1GiB
//@ env TARN_INITIAL=2M
//@ env TARN_INCREMENT=4MiB
//@ env TARN_BACKGROUND_PURGE=0
CASE(options_all_good) {
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}
