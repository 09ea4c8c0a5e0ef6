// free of an address on the stack of a thread, by that thread.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

#include <pthread.h>

static void* work(void* argument) {
  char local[256] = "";
  char* p = hidden(local);
  p += -(uintptr_t)p & 63;
  note_pointer("p", p);
  free(p);
  return argument;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
  return 0;
}
