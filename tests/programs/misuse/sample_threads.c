// A sampled block that one thread makes, another frees, and a third uses.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 7 of the block of 100 bytes at {p} is written at {program}+0xADDR by thread {user}
//@ stderr tarn:   freed by thread {freer} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

#include <pthread.h>

static void* use(void* block) {
  note_size("user", (size_t)gettid());
  ((volatile char*)block)[7] = 1;
  return NULL;
}
static void* release(void* block) {
  note_size("freer", (size_t)gettid());
  free_block(block);
  return NULL;
}

int main(void) {
  char* p = make_block(100);
  note_guarded(p);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, release, p) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, use, p) == 0 && pthread_join(thread, NULL) == 0);
  return 0;
}
