// What glibc's malloc tells about itself, and how it is tuned.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "../cases.h"

// malloc_usable_size is at least the requested size, 0 for null, and all of it may be written.
//@ broken-by usable_large usable_null malloc_overlap
CASE(usable_size) {
  enum { count = 600 };
  static void* p[count];
  static size_t usable[count];
  CHECK(malloc_usable_size(NULL) == 0);
  for (int i = 0; i < count; ++i) {
    size_t size = (size_t)i * i / 2;
    p[i] = i % 4 == 3 ? aligned_alloc(128, size) : i % 4 == 2 ? calloc(1, size) : malloc(size);
    usable[i] = malloc_usable_size(p[i]);
    CHECK(usable[i] >= size);
    CHECK(usable[i] <= size + size / 4 + 4096);
    memset(p[i], i & 0xff, usable[i]);
  }
  for (int i = 0; i < count; ++i) {
    unsigned char* bytes = p[i];
    for (size_t j = 0; j < usable[i]; j += 9) CHECK(bytes[j] == (i & 0xff));
    free(p[i]);
  }
}

// The last usable byte of a large block may be written, and the size survives a realloc to it.
//@ broken-by usable_large
CASE(usable_large_size) {
  for (size_t size = 100000; size < (size_t)200 << 20; size = size * 2 + 1) {
    char* p = malloc(size);
    size_t usable = malloc_usable_size(p);
    CHECK(p != NULL && usable >= size);
    p[0] = p[usable - 1] = 'x';
    p = realloc(p, usable);
    CHECK(p != NULL && p[0] == 'x' && p[usable - 1] == 'x');
    CHECK(malloc_usable_size(p) >= usable);
    free(p);
  }
}

static size_t in_use(void) {
  struct mallinfo2 info = mallinfo2();
  CHECK(info.arena == info.uordblks + info.fordblks);
  return info.uordblks + info.hblkhd;
}

// mallinfo2 and mallinfo follow the memory in use: up with 128 MiB of blocks, down when they are freed. A large block
// that is mapped alone counts in hblkhd only.
//@ broken-by mallinfo_empty
CASE(mallinfo) {
  enum { count = 131072 };
  static void* p[count];
  size_t before = in_use();
  for (int i = 0; i < count; ++i) p[i] = malloc(1000);
  size_t small = in_use();
  CHECK(small - before >= (size_t)count * 1000 && small - before < (size_t)count * 1300);
  size_t arena = mallinfo2().arena;
  void* large = malloc((size_t)50 << 20);
  CHECK(large != NULL && in_use() - small >= (size_t)50 << 20);
  CHECK(mallinfo2().arena < arena + ((size_t)25 << 20));  // a mapped block is no part of it
  free(large);
  for (int i = 0; i < count; ++i) free(p[i]);
  CHECK(in_use() < before + (small - before) / 4);  // some may wait in caches and count as used
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  p[0] = malloc(100000);
  struct mallinfo narrow = mallinfo();
  CHECK(narrow.uordblks + narrow.hblkhd >= 100000);
  free(p[0]);
}

enum { remote_blocks = 100000 };
static void* remote[remote_blocks];

static void* allocate_remote(void* has_allocated) {
  for (int i = 0; i < remote_blocks; ++i) remote[i] = malloc(100);
  pthread_barrier_wait(has_allocated);
  for (;;) pause();
}

// mallinfo2 does not have blocks of a sleeping thread as in use that another one has freed.
//@ broken-by mallinfo_empty
CASE(mallinfo_of_a_sleeping_thread) {
  pthread_barrier_t has_allocated;
  pthread_barrier_init(&has_allocated, NULL, 2);
  size_t before = in_use();
  pthread_t sleeper;
  CHECK(pthread_create(&sleeper, NULL, allocate_remote, &has_allocated) == 0);
  pthread_barrier_wait(&has_allocated);
  size_t during = in_use();
  CHECK(during - before >= (size_t)remote_blocks * 100);
  for (int i = 0; i < remote_blocks; ++i) free(remote[i]);
  CHECK(in_use() < before + (during - before) / 4);
}

// malloc_info writes one well-formed document with a root <malloc version="1">.
//@ xml
//@ broken-by info_not_xml
CASE(malloc_info) {
  void* small = malloc(100);
  void* large = malloc((size_t)9 << 20);
  CHECK(malloc_info(0, stdout) == 0);
  CHECK(malloc_info(1, stdout) != 0);
  free(small);
  free(large);
}

// malloc_stats writes something for people to stderr, and nothing anywhere else.
//@ broken-by stats_silent
CASE(malloc_stats) {
  int caught = memfd_create("stderr", 0), saved_stderr = dup(2);
  void* p = malloc(1000);
  CHECK(p != NULL && caught >= 0 && dup2(caught, 2) == 2);
  malloc_stats();
  fflush(stderr);
  CHECK(dup2(saved_stderr, 2) == 2);
  char text[4096] = "";
  CHECK(pread(caught, text, sizeof text - 1, 0) > 20);
  CHECK(strpbrk(text, "0123456789") != NULL && strchr(text, '\n') != NULL);
  free(p);
}

// malloc_trim gives memory of freed blocks back: resident memory falls, and live blocks survive.
//@ broken-by trim_nothing
CASE(malloc_trim) {
  enum { count = 100000 };
  static void* p[count];
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(1000);
    memset(p[i], 1, 1000);
  }
  CHECK(resident_bytes() > (size_t)90 << 20);
  for (int i = 0; i < count; ++i) {
    if (i % 1000 != 999) free(p[i]);
  }
  int released = malloc_trim(0);
  CHECK(released == 0 || released == 1);
  CHECK(resident_bytes() < (size_t)30 << 20);
  for (int i = 999; i < count; i += 1000) {
    CHECK(((char*)p[i])[999] == 1);
    free(p[i]);
  }
}

// mallopt takes every parameter of the manual, answers 1 or 0, and allocation goes on.
//@ broken-by mallopt_odd
CASE(mallopt) {
  const int parameters[] = {M_MXFAST,   M_TRIM_THRESHOLD, M_TOP_PAD,    M_MMAP_THRESHOLD,
                            M_MMAP_MAX, M_CHECK_ACTION,   M_ARENA_TEST, M_ARENA_MAX};
  for (int i = 0; i < 8; ++i) {
    int answer = mallopt(parameters[i], i == 0 ? 64 : 128 * 1024);
    CHECK(answer == 1 || answer == 0);
  }
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
}

// After mallopt(M_PERTURB) calloc still gives zeros.
//@ broken-by calloc_dirty
CASE(mallopt_perturb) {
  mallopt(M_PERTURB, 0x55);
  for (size_t size = 1; size < 100000; size = size * 2 + 3) {
    void* dirty = malloc(size);
    memset(dirty, 0x33, size);
    free(dirty);
    void* p = calloc(1, size);
    CHECK(p != NULL && is_zero(p, size));
    free(p);
  }
}
