// Freed once by each of two threads, neither of which owns it; with TARN_GUARD=1 seen at once.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

#include <pthread.h>

static void* release(void* p) {
  free(p);
  return NULL;
}

int main(void) {
  void* p = malloc(64);
  note_pointer("p", p);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, release, hidden(p)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  return 0;
}
