// Shared by every program of this folder: a check that ends it, notes for the runner, patterns.
#ifndef TARN_TESTS_PROGRAMS_CHECK_H
#define TARN_TESTS_PROGRAMS_CHECK_H

#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __GLIBC__
#include "musl.h"
#endif

// Ends the program with status 1 and names the line. Works in a forked child and in any thread;
// stdio is left alone because it allocates.
#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

static inline void check_failed(const char* file, int line, const char* condition) {
  char text[512];
  int length = snprintf(text, sizeof text, "%s:%d: not so: %s\n", strrchr(file, '/') + 1, line, condition);
  if (write(2, text, (size_t)length) < 0) _exit(2);
  _exit(1);
}

// Tells the runner a value: {name} in an expected text then stands for it.
static inline void note_pointer(const char* name, const void* p) {
  char text[64];
  int length = snprintf(text, sizeof text, "%s=0x%lx\n", name, (unsigned long)(uintptr_t)p);
  CHECK(write(1, text, (size_t)length) == length);
}

static inline void note_size(const char* name, size_t n) {
  char text[64];
  int length = snprintf(text, sizeof text, "%s=%zu\n", name, n);
  CHECK(write(1, text, (size_t)length) == length);
}

// A pattern that differs from block to block and from byte to byte; its period is no power of two.
#define pattern_period ((size_t)251)

static inline void pattern_of(unsigned char* period, size_t n, unsigned seed) {
  for (size_t i = 0; i < n && i < pattern_period; ++i) period[i] = (unsigned char)(seed + i * 7);
}

static inline void fill(void* p, size_t n, unsigned seed) {
  unsigned char period[pattern_period];
  pattern_of(period, n, seed);
  for (size_t i = 0; i < n; i += pattern_period) {
    memcpy((char*)p + i, period, n - i < pattern_period ? n - i : pattern_period);
  }
}

static inline int is_filled(const void* p, size_t n, unsigned seed) {
  unsigned char period[pattern_period];
  pattern_of(period, n, seed);
  for (size_t i = 0; i < n; i += pattern_period) {
    if (memcmp((const char*)p + i, period, n - i < pattern_period ? n - i : pattern_period) != 0) return 0;
  }
  return 1;
}

static inline int is_zero(const void* p, size_t n) {
  const char* bytes = (const char*)p;
  return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static inline int is_aligned(const void* p, size_t alignment) { return ((uintptr_t)p & (alignment - 1)) == 0; }

// Fetches the frees of other threads: they return to the owner in batches, and this makes the calling thread send and
// receive them.
static inline void fetch_frees(void) {
  malloc_trim(0);
  for (int i = 0; i < 20000; ++i) CHECK(malloc(64) != NULL);
  malloc_trim(0);
}

// Returns the seconds after which a child counts as hung, and its alarm ends it, or after which nobody waits any longer
// for what should come. They are fewer when that is expected (run.py --prove).
static inline unsigned hang_seconds(void) {
  const char* seconds = getenv("HANG_SECONDS");
  return seconds != NULL ? (unsigned)atoi(seconds) : 100;
}

// Returns true when blocks are guarded (docs/guide/guard.md), because fresh memory is filled then. A small block takes
// some 60 bytes more.
#define guarded_extra ((size_t)60)
static inline int guarded(void) {
  unsigned char* p = (unsigned char*)malloc(100);
  int filled = p != NULL && p[0] == 0xcd && memcmp(p, p + 1, 99) == 0;
  free(p);
  return filled;
}

// Returns true when blocks are hardened: their usable size is exactly the requested one, and no class of Tarn is odd.
static inline int hardened(void) {
  void* blocks[2];
  int exact = !guarded();
  for (int i = 0; i < 2; ++i) {
    blocks[i] = malloc(101);
    exact = exact && malloc_usable_size(blocks[i]) == 101;
  }
  free(blocks[0]);
  free(blocks[1]);
  return exact;
}

// Returns the bytes that a block of `size` bytes may take beside them, where blocks are guarded or hardened. A hardened
// block has eight bytes more, so that one of a power of two takes the next class.
static inline size_t block_extra(size_t size) { return guarded() ? guarded_extra : hardened() ? size / 8 + 16 : 0; }

// Hides a pointer from the compiler, which would otherwise see the misuse and warn or fold it away.
static inline void* hidden(const void* p) {
  void* volatile copy = (void*)(uintptr_t)p;
  return copy;
}

// Reads a file of this process from /proc without allocating, so that the call gives no memory back and starts nothing.
static inline void read_process_file(const char* path, char* text, size_t capacity) {
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  const ssize_t length = read(file, text, capacity - 1);
  CHECK(length > 0);
  close(file);
  text[length] = 0;
}

static inline size_t resident_bytes(void) {
  char text[128];
  read_process_file("/proc/self/statm", text, sizeof text);
  return strtoul(strchr(text, ' '), NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static inline int thread_count(void) {
  char text[4096];
  read_process_file("/proc/self/status", text, sizeof text);
  return atoi(strstr(text, "\nThreads:") + 9);
}

static inline unsigned next_random(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

#endif
