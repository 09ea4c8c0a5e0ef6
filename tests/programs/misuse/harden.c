// Hardened blocks: the mistakes that free, malloc and the end of the program name (docs/guide/guard.md).
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_HARDEN=0
//@ signal ABRT
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../cases.h"
#include "../guarded.h"

// One byte behind a block: the zero of a string that is one too long.
//@ stderr tarn: free({p}): overrun: bytes were written past the end of the block of 20 bytes
//@ stderr tarn: TARN_GUARD=1 shows where the block was allocated
CASE(harden_overrun_by_one) {
  char* p = malloc(20);
  note_pointer("p", p);
  strcpy(hidden(p), "12345678901234567890");
  free(p);
}

// An overrun that reaches the end of the block takes the size with it.
//@ stderr tarn: free({p}): overrun: bytes were written past the end of the block of 56 bytes or fewer,
//@ more or before the block behind it
//@ stderr tarn: TARN_GUARD=1 shows where the block was allocated
CASE(harden_overrun_over_tail) {
  char* p = malloc(50);
  note_pointer("p", p);
  memset(hidden(p), 'x', 64);
  free(p);
}

// One byte behind an aligned block, seen by realloc.
//@ stderr tarn: realloc({p}): overrun: bytes were written past the end of the block of 100 bytes
//@ stderr tarn: TARN_GUARD=1 shows where the block was allocated
CASE(harden_overrun_aligned) {
  char* p = aligned_alloc(4096, 100);
  note_pointer("p", p);
  ((char*)hidden(p))[100] = 0;
  free(realloc(p, 5000));
}

// realloc moves the end of a block: the canary moves with it.
//@ stderr tarn: free({p}): overrun: bytes were written past the end of the block of 70 bytes
//@ stderr tarn: TARN_GUARD=1 shows where the block was allocated
CASE(harden_overrun_after_realloc) {
  char* p = malloc(100);
  for (size_t n = 100; n > 70; --n) {
    p = realloc(p, n - 1);
    memset(p, 1, n - 1);
  }
  p = realloc(realloc(p, 3000), 70);
  note_pointer("p", p);
  ((char*)hidden(p))[70] = 1;
  free(p);
}

// Blocks of every size from 0 to 300 bytes notice a byte behind them.
//@ exit 0
CASE(harden_overrun_full_block) {
  for (size_t n = 0; n <= 300; ++n) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(2);
      char* p = hidden(malloc(n));
      p[n] = 0;
      free(p);
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  }
}

// A write to a freed block is named when the block is used again, at the latest when the program ends.
//@ stderr tarn: use after free: byte 16 of the block of 40 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR
//@ stderr tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated
CASE(harden_use_after_free) {
  char* p = malloc(40);
  note_guarded(p);
  free(p);
  ((char*)hidden(p))[16] = 1;
  for (int i = 0; i < 1500; ++i) free(malloc(40));
}

// The first word of a freed block, which C++ objects use most, is checked too.
//@ stderr tarn: use after free: byte 4 of the block of 8 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR
//@ stderr tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated
CASE(harden_use_after_free_first_byte) {
  int* p = malloc(8);
  note_guarded(p);
  free(p);
  ++((int*)hidden(p))[1];
}

// A write to a freed block that is not used again is named when the program ends.
//@ stderr tarn: use after free: byte 8 of the block of 1000 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR
//@ stderr tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated
CASE(harden_use_after_free_at_exit) {
  char* p = malloc(1000);
  note_guarded(p);
  free(p);
  ((char*)hidden(p))[8] ^= 1;  // whatever was there
}

// The program overwrites the mark of a freed block with a null pointer. All 24 bytes were its own, so that no canary
// lies between them and the tail.
//@ stderr tarn: free({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(harden_double_free_without_mark) {
  void** p = malloc(24);
  note_guarded(p);
  free(p);
  ((void**)hidden(p))[1] = NULL;
  free(hidden(p));
}

static void* free_block(void* p) {
  free(p);
  return NULL;
}

// Another thread frees the block and ends; the owner notices a later write to the block.
//@ env TARN_SAMPLE_GUARDS=0
//@ stderr tarn: use after free: byte 20 of the block of 5000 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR
//@ stderr tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated
CASE(harden_use_after_free_by_thread) {
  char* p = malloc(5000);
  note_guarded(p);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, free_block, p) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  ((char*)hidden(p))[20] = 1;
  for (int i = 0; i < 1000; ++i) CHECK(malloc(5000) != NULL);
}

// A second free names the place of the first one.
//@ stderr tarn: free({p}): double free of a block of 40 bytes; freed before at {program}+0xADDR
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(harden_double_free) {
  char* p = malloc(40);
  note_guarded(p);
  free(p);
  free(hidden(p));
}

// Another thread frees a block, while it still waits with that thread the owner frees it once more.
//@ stderr tarn: free({p}): double free of a block of 40 bytes; freed before at {program}+0xADDR
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(harden_double_free_by_thread) {
  char* p = malloc(40);
  note_guarded(p);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, free_block, p) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  free(hidden(p));
}

enum { raced_bytes = 40, raced_block = 48 };
static char* raced;
static char raced_image[raced_block];
static pthread_barrier_t turn;

static void start_race(void* (*partner)(void*), pthread_t* thread) {
  raced = malloc(raced_bytes);
  memset(raced, 7, raced_bytes);
  memcpy(raced_image, hidden(raced), raced_block);  // as a thread sees the block that begins to free it
  note_pointer("p", raced);
  CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
  CHECK(pthread_create(thread, NULL, partner, NULL) == 0);
}

// The block waits in the quarantine, and is used again by and by.
static void use_raced_again(void) {
  for (char* p = NULL; p != raced; memset(p, 1, raced_bytes)) {
    free(p);
    p = malloc(raced_bytes);
  }
}

static void* free_raced_and_wait(void* unused) {
  free(raced);
  pthread_barrier_wait(&turn);
  pthread_barrier_wait(&turn);
  return unused;  // its end sends the block
}
static pthread_t free_raced_by_partner(void) {
  pthread_t partner;
  start_race(free_raced_and_wait, &partner);
  note_guarded(raced);
  pthread_barrier_wait(&turn);
  return partner;
}
// The owner hears of the partner's free.
static void send_raced(pthread_t partner) {
  pthread_barrier_wait(&turn);
  CHECK(pthread_join(partner, NULL) == 0);
  for (int i = 0; i < 5000; ++i) CHECK(malloc(raced_bytes) != NULL);
}

// Two threads free a block at the same moment, and the owner is the later one by a few instructions. It uses the block
// again before it hears of the other free. The memory shows what the owner read before.
//@ stderr tarn: free({p}): double free of a block of 40 bytes; freed before at {program}+0xADDR
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(harden_freed_by_both_owner_last) {
  const pthread_t partner = free_raced_by_partner();
  memcpy(hidden(raced), raced_image, raced_block);
  free(hidden(raced));
  use_raced_again();
  send_raced(partner);
}

// The same two frees, after which the owner has the block in the quarantine when it hears of the other free.
//@ stderr tarn: free({p}): double free of a block of 40 bytes; freed before at {program}+0xADDR
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(harden_freed_by_both_not_used_again) {
  const pthread_t partner = free_raced_by_partner();
  memcpy(hidden(raced), raced_image, raced_block);
  free(hidden(raced));
  send_raced(partner);
}

// Another thread frees the block, and the owner writes to it before it hears of that: to the second word, where the
// mark of the free is.
//@ stderr tarn: use after free: byte 9 of the block of 40 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR
//@ stderr tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated
CASE(harden_use_after_free_of_mark) {
  const pthread_t partner = free_raced_by_partner();
  ((char*)hidden(raced))[9] ^= 1;
  send_raced(partner);
}

// The program overwrites all of that word by zeroes.
//@ stderr tarn: use after free: byte 8 of the block of 40 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR
//@ stderr tarn: end every use of the block before its free; TARN_GUARD=1 shows where it was allocated
CASE(harden_mark_overwritten_by_zeroes) {
  const pthread_t partner = free_raced_by_partner();
  memset((char*)hidden(raced) + 8, 0, 8);
  send_raced(partner);
}

static void* free_raced_late(void* unused) {
  pthread_barrier_wait(&turn);
  memcpy(hidden(raced), raced_image, raced_block);
  free(hidden(raced));
  pthread_barrier_wait(&turn);
  pthread_barrier_wait(&turn);
  return unused;
}

// The other thread is the later one here.
//@ stderr tarn: free({p}): double free of a block of 40 bytes; freed before at {program}+0xADDR
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(harden_freed_by_both_owner_first) {
  pthread_t partner;
  start_race(free_raced_late, &partner);
  note_guarded(raced);
  free(hidden(raced));
  pthread_barrier_wait(&turn);
  pthread_barrier_wait(&turn);
  use_raced_again();
}

void free_sized(void* block, size_t bytes) __attribute__((weak));

// free_sized of a large block with more than it has.
//@ stderr tarn: free({p}, 2000000): wrong size: the block has 1048576 bytes
//@ stderr tarn: pass the size that was allocated: delete an object by its own type
CASE(harden_wrong_size_large) {
  void* p = malloc(1048576);
  note_pointer("p", p);
  free_sized(p, 2000000);
}
