// How a fault ends the program, and overruns that meet inaccessible memory.
//@ tarn-only
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "../cases.h"
#include "../maps.h"

// Standard error is a pipe that nobody reads: the fault ends the program, it does not hang.
//@ broken-by free_leaks
//@ signal ABRT
CASE(fault_broken_pipe) {
  int ends[2];
  signal(SIGPIPE, SIG_IGN);
  CHECK(pipe(ends) == 0 && dup2(ends[1], 2) == 2 && close(ends[0]) == 0 && close(ends[1]) == 0);
  void* p = malloc(64);
  free(p);
  free(hidden(p));
}

static void allocate_and_exit(int number) {
  for (size_t size = 1; size < 3000000; size *= 2) free(malloc(size));
  _exit(number);
}

// A SIGABRT handler that allocates, as crash reporters do, does not hang on a lock held at the fault.
//@ exit 6
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 1048576-byte block at {block}
//@ stderr tarn: pass the address that the allocation returned
CASE(fault_handler_allocates) {
  char* block = malloc(1 << 20);
  CHECK(signal(SIGABRT, allocate_and_exit) != SIG_ERR && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 8);
  free(hidden(block + 8));
}

static void write_and_exit(int number) {
  if (write(2, "handler\n", 8) == 8) _exit(number);
}

static _Alignas(64) char variable[64];

// A handler of SIGABRT runs after the line is written, and may end the program its own way.
//@ exit 6
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ stderr tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
//@ stderr handler
CASE(fault_handler_runs) {
  CHECK(signal(SIGABRT, write_and_exit) != SIG_ERR);
  note_pointer("p", variable);
  free(hidden(variable));
}

static void* free_twice(void* argument) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return argument;
}

// A fault in a second thread ends the whole process.
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
CASE(fault_in_thread) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, free_twice, NULL) == 0);
  pause();
}

// With standard error closed a fault still ends the program with SIGABRT.
//@ broken-by free_leaks
//@ signal ABRT
//@ closed 2
CASE(fault_without_stderr) {
  void* p = malloc(64);
  free(p);
  free(hidden(p));
}

static sigjmp_buf resume;

static void resume_after_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  char text[64];
  const int length = snprintf(text, sizeof text, "0x%lx: no access\n", (unsigned long)(uintptr_t)info->si_addr);
  if (write(2, text, (size_t)length) != length) _exit(1);
  siglongjmp(resume, 1);
}

// A linear overflow behind a block of 40 MiB, and one before it, meet a guard at once, although there are others.
//@ env TARN_GUARD=0
//@ stderr {end}: no access
//@ stderr {before}: no access
CASE(overrun_mapping) {
  struct sigaction action = {.sa_sigaction = resume_after_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  const size_t bytes = (size_t)40 << 20;
  volatile char* blocks[5];
  for (int i = 0; i < 5; ++i) {
    blocks[i] = malloc(bytes);
    CHECK(blocks[i] != NULL && malloc_usable_size((void*)blocks[i]) == bytes);
  }
  volatile char* const block = blocks[2];
  note_pointer("end", (char*)block + bytes);
  note_pointer("before", (char*)block - 1);
  for (volatile int turn = 0; turn < 2;) {
    if (sigsetjmp(resume, 1) != 0) {
      ++turn;
      continue;
    }
    for (ptrdiff_t offset = 0; offset < (ptrdiff_t)bytes; ++offset)
      block[turn == 0 ? (ptrdiff_t)bytes - 1 + offset : -offset] = 0x41;
    exit(1);
  }
  free((void*)block);  // nothing of the heap was hurt
  CHECK(malloc(bytes) != NULL);
}

#define COUNT 300
#define BYTES ((size_t)1 << 20)

static void exit_after_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  char text[64];
  const int length = snprintf(text, sizeof text, "0x%lx: no access\n", (unsigned long)(uintptr_t)info->si_addr);
  _exit(write(2, text, (size_t)length) == length ? 0 : 1);
}

// A linear overflow behind the last block of a segment meets a guard at once: it reaches neither the records of the
// heap nor another mapping.
//@ env TARN_GUARD=0
//@ stderr {end}: no access
CASE(overrun_segment) {
  struct sigaction action = {.sa_sigaction = exit_after_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  static char* blocks[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    blocks[i] = malloc(BYTES);
    CHECK(blocks[i] != NULL && malloc_usable_size(blocks[i]) == BYTES);
  }
  for (int i = 0; i < COUNT; ++i) {
    const struct range writable = mapping_of(blocks[i]);
    if (writable.end == blocks[i] + BYTES) {
      note_pointer("end", blocks[i] + BYTES);
      for (size_t offset = 0; offset < 4 * BYTES; ++offset) ((volatile char*)blocks[i])[offset] = 0x41;
    }
  }
  exit(1);
}
