// Freed twice by a thread that is not its owner: seen at the latest when the owner fetches it.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

#include <pthread.h>

static void* release(void* p) {
  free(p);
  free(hidden(p));
  return NULL;
}

int main(void) {
  void* p = malloc(64);
  note_pointer("p", p);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, release, p) == 0 && pthread_join(thread, NULL) == 0);
  fetch_frees();
  return 0;
}
