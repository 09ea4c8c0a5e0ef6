// The block of a thread that ended, freed twice: seen at the latest when the owner fetches it.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

#include <pthread.h>

static void* left_behind;

static void* make(void* argument) {
  void* p = malloc(64);
  left_behind = malloc(argument == NULL ? 64 : 1);
  return p;
}

int main(void) {
  pthread_t thread;
  void* p = NULL;
  CHECK(pthread_create(&thread, NULL, make, NULL) == 0 && pthread_join(thread, &p) == 0);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  fetch_frees();
  return 0;
}
