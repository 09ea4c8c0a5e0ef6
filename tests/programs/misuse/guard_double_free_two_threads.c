// Freed once by each of two threads, neither of which owns it: seen at once, and both are named.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes; freed before at {program}+0xADDR by thread
//@ more <int>; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

#include <pthread.h>

static void* release(void* p) {
  free(p);
  return NULL;
}

int main(void) {
  void* p = malloc(64);
  note_guarded(p);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, release, hidden(p)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  return 0;
}
