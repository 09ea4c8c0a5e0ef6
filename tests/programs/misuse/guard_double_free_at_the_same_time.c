// Two threads free a block at the same time: one of them is told.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free(0xADDR): double free of a block of 2000 bytes; freed before at {program}+0xADDR by thread
//@ more <int>; allocated at {program}+0xADDR by thread <int>
#include "../guarded.h"

#include <pthread.h>

enum { count = 1000 };
static void* p[count];
static pthread_barrier_t together;

static void* release(void* argument) {
  if (argument == NULL) pthread_barrier_wait(&together);
  for (int i = 0; i < count; ++i) free(p[i]);
  return NULL;
}

int main(void) {
  pthread_t thread;
  note_guarded(NULL);
  CHECK(pthread_barrier_init(&together, NULL, 2) == 0);
  for (int i = 0; i < count; ++i) p[i] = malloc(2000);
  CHECK(pthread_create(&thread, NULL, release, NULL) == 0);
  release(NULL);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
