// Sampled blocks that are misused.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../cases.h"
#include "../sampled.h"

// A sampled block that is freed twice.
//@ stderr tarn: free({p}): double free of the block of 24 bytes at {p}
//@ stderr tarn: free each block once: remove one of these two frees
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_double_free) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  free_block((char*)p);
  free_block((char*)p);
}

// A child uses a sampled block that its parent freed: it has the records, too.
//@ stderr tarn: use after free: byte 1 of the block of 24 bytes at {p} is written at {program}+0xADDR by thread {child}
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_in_child) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  free_block((char*)p);
  if (fork() == 0) {
    free(malloc(24));
    note_size("child", (size_t)gettid());
    p[1] = 0;
  }
  int status;
  CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  raise(SIGABRT);
}

// A pointer into a sampled block, freed.
//@ stderr tarn: free({inside}): misaligned pointer: 8 bytes into the block of 24 bytes at {p}
//@ stderr tarn: pass the address that the allocation returned
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_misaligned) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  note_pointer("inside", (char*)p + 8);
  free_block((char*)p + 8);
}

// A write between the end of a sampled block and the end of its page is seen by free.
//@ stderr tarn: free({p}): overrun: 2 bytes written past the end of the block of 29 bytes at {p}; the first is byte 29
//@ stderr tarn: find the code that writes past the end of the block: its size is too small, or an index is too
//@ more large
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_overrun_in_rest) {
  volatile char* p = make_at_end(29);
  note_guarded((char*)p);
  p[29] = 1;
  p[30] = 1;
  free_block((char*)p);
}

// A read behind a sampled block faults at once, also far behind it.
//@ stderr tarn: overrun: byte 1999 of the block of 48 bytes at {p} is read at {program}+0xADDR by thread {thread}
//@ stderr tarn: find the index or pointer that lies past the end of the block, or a size that is too small
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_overrun_read) {
  volatile char* p = make_at_end(48);
  note_guarded((char*)p);
  (void)p[1999];
}

// A write behind a sampled block faults at once.
//@ stderr tarn: overrun: byte 32 of the block of 32 bytes at {p} is written at {program}+0xADDR by thread {thread}
//@ stderr tarn: find the index or pointer that lies past the end of the block, or a size that is too small
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_overrun_write) {
  volatile char* p = make_at_end(32);
  note_guarded((char*)p);
  p[32] = 1;
}

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

// A sampled block that one thread makes, another frees, and a third uses.
//@ stderr tarn: use after free: byte 7 of the block of 100 bytes at {p} is written at {program}+0xADDR by thread {user}
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {freer} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_threads) {
  char* p = make_block(100);
  note_guarded(p);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, release, p) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(pthread_create(&thread, NULL, use, p) == 0 && pthread_join(thread, NULL) == 0);
}

// A write before a sampled block at the end of its page is seen by realloc.
//@ stderr tarn: realloc({p}): underrun: 5 or more bytes written before the block of 24 bytes at {p}
//@ stderr tarn: find the code that writes before the start of the block: an index is negative, or a pointer
//@ more moved back too far
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_underrun_in_rest) {
  volatile char* p = make_at_end(24);
  note_guarded((char*)p);
  p[-5] = 1;
  CHECK(realloc((char*)p, 100) != NULL);
}

// A read before a sampled block faults at once.
//@ stderr tarn: underrun: byte 1 before the block of 24 bytes at {p} is read at {program}+0xADDR by thread {thread}
//@ stderr tarn: find the index or pointer that lies before the start of the block
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_underrun_read) {
  volatile char* p = make_at_start(24);
  note_guarded((char*)p);
  (void)p[-1];
}

// malloc_usable_size of a sampled block that is free.
//@ stderr tarn: malloc_usable_size({p}): use of the block of 24 bytes at {p} after it was freed
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_usable_size_of_freed) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  free_block((char*)p);
  CHECK(malloc_usable_size((char*)p) != 24);
}

// A read of a sampled block that was freed faults at once.
//@ stderr tarn: use after free: byte 3 of the block of 24 bytes at {p} is read at {program}+0xADDR by thread {thread}
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_use_after_free) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  free_block((char*)p);
  (void)p[3];
}

// A write to a sampled block of calloc that was freed, when others have been freed since.
//@ stderr tarn: use after free: byte 0 of the block of 24 bytes at {p} is written at {program}+0xADDR by thread
//@ more {thread}
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_use_after_free_zeroed) {
  volatile char* p = calloc(2, 12);
  note_guarded((char*)p);
  CHECK(p[0] == 0 && p[23] == 0);
  free_block((char*)p);
  for (int i = 0; i < 30; ++i) free(malloc(24));
  p[0] = 1;
}

// A sampled block that realloc moved, used by its old address.
//@ stderr tarn: use after free: byte 15 of the block of 16 bytes at {p} is written at {program}+0xADDR by thread
//@ more {thread}
//@ stderr tarn: end every use of the block before its free
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
CASE(sample_use_after_realloc) {
  volatile char* p = make_block(16);
  note_guarded((char*)p);
  char* moved = realloc((char*)p, 17);
  CHECK(moved != NULL && moved != p && malloc_usable_size(moved) == 17);
  ((char*)hidden((char*)p))[15] = 1;
}
