// A write to a block that another thread allocated and a third one freed.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 0 of the block of 64 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {freer}; allocated at {program}+0xADDR by thread {maker}
#include "../guarded.h"

#include <pthread.h>

static void* make(void* argument) {
  note_size("maker", (size_t)gettid());
  return argument == NULL ? malloc(64) : NULL;
}
static void* release(void* p) {
  note_size("freer", (size_t)gettid());
  free(p);
  return NULL;
}

int main(void) {
  pthread_t thread;
  void* p;
  CHECK(pthread_create(&thread, NULL, make, NULL) == 0 && pthread_join(thread, &p) == 0);
  note_guarded(p);
  CHECK(pthread_create(&thread, NULL, release, p) == 0 && pthread_join(thread, NULL) == 0);
  ((char*)hidden(p))[0] = 0;
  empty_quarantine();
  return 0;
}
