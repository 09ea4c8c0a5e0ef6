// A fault in a second thread ends the whole process.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include <pthread.h>
#include "../check.h"

static void* work(void* argument) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return argument;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  pause();
  return 0;
}
