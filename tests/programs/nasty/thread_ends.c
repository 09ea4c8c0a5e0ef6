// Threads that end early, late or in large numbers.
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include "../cases.h"

static int finished;

static void clean(void* p) {
  free(p);
  free(malloc(5000));
}

static void* pending(void* argument) {
  void* block = malloc(700);
  pthread_cleanup_push(clean, block);
  pthread_cancel(pthread_self());
  for (int i = 0; i < 40; ++i) {
    void* p[40];
    for (size_t j = 0; j < 40; ++j) p[j] = malloc(j * j * j + 1);
    for (size_t j = 0; j < 40; ++j) p[j] = realloc(p[j], j * 900 + 1);
    for (size_t j = 0; j < 40; ++j) free(p[j]);
    free(calloc(1, 3000000));
  }
  __atomic_add_fetch(&finished, 1, __ATOMIC_RELAXED);
  pthread_testcancel();
  pthread_cleanup_pop(0);
  return argument;
}

static void* loop(void* argument) {
  void* block = malloc(700);
  pthread_cleanup_push(clean, block);
  for (;;) {
    for (size_t j = 0; j < 100; ++j) free(malloc(j * 40));
    pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return argument;
}

// pthread_cancel of threads that allocate: malloc and free are no cancellation points.
//@ broken-by cancel_point
CASE(cancel) {
  for (int round = 0; round < 10; ++round) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) {
      CHECK(pthread_create(&threads[i], NULL, i % 2 ? pending : loop, NULL) == 0);
    }
    usleep(2000);
    for (int i = 0; i < 8; i += 2) CHECK(pthread_cancel(threads[i]) == 0);
    for (int i = 0; i < 8; ++i) {
      void* result = NULL;
      CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
  }
  CHECK(finished == 40);
}

enum { crowd = 1000, stack_bytes = 64 << 10, kib_for_each = 6, trim_later_kib = 4 << 10 };
static pthread_barrier_t crowd_is_there;

static void* use_some_sizes(void* unused) {
  void* p[20];
  for (size_t i = 0; i < 20; ++i) p[i] = memset(malloc(48 * i + 1), 1, 48 * i + 1);
  for (size_t i = 0; i < 20; ++i) free(p[i]);
  pthread_barrier_wait(&crowd_is_there);
  return unused;
}

// Returns the resident bytes that stay of threads that were alive at one time.
static size_t bytes_after_crowd(void) {
  const size_t bytes = crowd * stack_bytes;
  char* stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(stacks != MAP_FAILED);
  CHECK(pthread_barrier_init(&crowd_is_there, NULL, crowd) == 0);
  free(malloc(1));
  const size_t before = resident_bytes();
  static pthread_t threads[crowd];
  for (size_t i = 0; i < crowd; ++i) {
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, stacks + i * stack_bytes, stack_bytes) == 0);
    CHECK(pthread_create(&threads[i], &attributes, use_some_sizes, NULL) == 0);
    pthread_attr_destroy(&attributes);
  }
  for (size_t i = 0; i < crowd; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(munmap(stacks, bytes) == 0);
  return before;
}

// Threads that have ended keep hardly any memory, without a call of the program. Some free memory may stay.
//@ tarn-only
//@ not-under old_kernel without membarrier nobody visits a heap
//@ broken-by TARN_BACKGROUND_PURGE=0
CASE(ended_threads_give_back) {
  if (guarded() || hardened()) return;  // a quarantine keeps freed blocks; the next case is about one
  const size_t limit = bytes_after_crowd() + crowd * (kib_for_each << 10) + (trim_later_kib << 10);
  for (unsigned tenths = 0; resident_bytes() > limit && tenths < 10 * hang_seconds(); ++tenths) usleep(100000);
  note_size("bytes over the limit", resident_bytes() > limit ? resident_bytes() - limit : 0);
  CHECK(resident_bytes() <= limit);
}

// The same with malloc_trim, of threads whose freed blocks waited in a quarantine.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_BACKGROUND_PURGE=0
//@ not-under old_kernel without membarrier nobody visits a heap
//@ broken-by TARN_STATS=text
CASE(ended_threads_are_trimmed) {
  if (guarded()) return;  // a quarantine keeps freed blocks
  const size_t limit = bytes_after_crowd() + crowd * (kib_for_each << 10);
  malloc_trim(0);
  note_size("bytes over the limit", resident_bytes() > limit ? resident_bytes() - limit : 0);
  CHECK(resident_bytes() <= limit);
}

enum { keys = 40 };
static pthread_key_t key[keys];
static int calls;

static void set_again(void* value) {
  char* old = value;
  int index = old[0], round = old[1];
  CHECK(is_filled(old + 2, 500, (unsigned)index));
  char* p = malloc(502);
  CHECK(p != NULL);
  p[0] = (char)index;
  p[1] = (char)(round + 1);
  fill(p + 2, 500, (unsigned)index);
  free(old);
  free(malloc((size_t)(round + 1) * 30000));
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (round < 3) {
    pthread_setspecific(key[index], p);
  } else {
    free(p);
  }
}

static void* use_keys(void* argument) {
  for (int i = 0; i < keys; ++i) {
    char* p = calloc(1, 502);
    p[0] = (char)i;
    fill(p + 2, 500, (unsigned)i);
    CHECK(pthread_setspecific(key[i], p) == 0);
  }
  return argument;
}

// pthread_key destructors that allocate, in all four rounds, with keys older and newer than the
// thread's first block.
//@ broken-by tls_dead
CASE(key_destructors) {
  pthread_t threads[50];
  for (int i = 0; i < keys / 2; ++i) CHECK(pthread_key_create(&key[i], set_again) == 0);
  free(malloc(1000));
  for (int i = keys / 2; i < keys; ++i) CHECK(pthread_key_create(&key[i], set_again) == 0);
  for (int i = 0; i < 50; ++i) CHECK(pthread_create(&threads[i], NULL, use_keys, NULL) == 0);
  for (int i = 0; i < 50; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(calls == 50 * keys * 4);
}

static void* use_sizes(void* argument) {
  for (size_t size = 1; size < 1000000; size *= 3) {
    char* p = malloc(size);
    CHECK(p != NULL);
    fill(p, size, 1);
    free(p);
  }
  return argument;
}

// Every pthread key is taken before a second thread starts: the allocator must not need another.
//@ broken-by needs_key
CASE(key_exhaustion) {
  pthread_key_t key;
  int key_count = 0;
  while (pthread_key_create(&key, NULL) == 0) ++key_count;
  CHECK(key_count > 900);
  use_sizes(NULL);
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_sizes, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
}

enum { left_blocks = 2000 };
static char* left[left_blocks];
static pthread_t first;

static void* go_on(void* argument) {
  CHECK(pthread_join(first, NULL) == 0);
  for (int i = 0; i < left_blocks; ++i) {
    CHECK(is_filled(left[i], 100, (unsigned)i));
    free(left[i]);
  }
  for (int i = 0; i < left_blocks; ++i) free(malloc((size_t)i * 10));
  exit(5);
  return argument;
}

// main leaves by pthread_exit; the other threads go on, free its blocks and end the process.
//@ exit 5
//@ broken-by orphan_lost
CASE(main_thread_ends_first) {
  first = pthread_self();
  for (int i = 0; i < left_blocks; ++i) {
    left[i] = malloc(100);
    fill(left[i], 100, (unsigned)i);
  }
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
  pthread_exit(NULL);
}

enum { threads_at_once = 1000 };
static pthread_barrier_t all_there;

static void* wait_with_blocks(void* argument) {
  char* p[20];
  for (size_t i = 0; i < 20; ++i) {
    p[i] = malloc(i * 40 + 1);
    CHECK(p[i] != NULL);
    fill(p[i], i * 40 + 1, (unsigned)(uintptr_t)argument);
  }
  pthread_barrier_wait(&all_there);
  for (size_t i = 0; i < 20; ++i) {
    CHECK(is_filled(p[i], i * 40 + 1, (unsigned)(uintptr_t)argument));
    free(p[i]);
  }
  return NULL;
}

// A thousand threads alive at once, each with blocks; then they end, and again: memory settles. What it settles to is
// the most after a round, because the helper gives memory back between some of them. The quarantine of a hardened heap
// fills up slowly, because each block takes a random slot.
//@ broken-by thread_leak
CASE(many_threads_at_once) {
  static pthread_t threads[threads_at_once];
  const size_t growth = (size_t)(hardened() ? 64 : 8) << 20, peak_resident = (size_t)(hardened() ? 350 : 250) << 20;
  size_t settled = 0;
  CHECK(pthread_barrier_init(&all_there, NULL, threads_at_once) == 0);
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 131072) == 0);
  for (int round = 0; round < 12; ++round) {
    for (uintptr_t i = 0; i < threads_at_once; ++i) {
      CHECK(pthread_create(&threads[i], &small, wait_with_blocks, (void*)i) == 0);
    }
    for (int i = 0; i < threads_at_once; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    const size_t resident = resident_bytes();
    if (round <= 7 && resident > settled) settled = resident;
  }
  CHECK(resident_bytes() < settled + growth);
  CHECK(resident_bytes() < peak_resident);
}

static void* keep_half(void* argument) {
  void** blocks = argument;
  for (int i = 0; i < 100; ++i) {
    char* p = malloc((size_t)i * 10 + 1);
    CHECK(p != NULL);
    memset(p, i, (size_t)i * 10 + 1);
    if (i % 2) {
      blocks[i / 2] = p;
    } else {
      free(p);
    }
  }
  return NULL;
}

// Ten thousand threads one after another, half of whose blocks others free: memory stays flat.
//@ broken-by thread_leak
CASE(many_threads_in_turn) {
  void* blocks[2][50] = {{NULL}};
  size_t before = 0;
  for (int i = 0; i <= 10000; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_half, blocks[i % 2]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (int j = 0; j < 50; ++j) free(blocks[(i + 1) % 2][j]);
    if (i == 500) before = resident_bytes();
    if (i % 500 == 0 && i > 500) CHECK(resident_bytes() < before + ((size_t)4 << 20));
  }
}

enum { orphans = 3000 };
static char* orphan[orphans];

static void* make_orphans(void* argument) {
  for (int i = 0; i < orphans; ++i) {
    size_t size = (size_t)i % 997 * 5 + 10 + (i % 100 ? 0 : 100000);
    orphan[i] = i % 9 ? malloc(size) : aligned_alloc(128, size);
    fill(orphan[i], 10, (unsigned)i);
  }
  return argument;
}

static void* release_orphans(void* argument) {
  for (int i = 0; i < orphans; ++i) {
    CHECK(is_filled(orphan[i], 10, (unsigned)i));
    CHECK(malloc_usable_size(orphan[i]) >= 10);
    if (i % 3 == 0) {
      orphan[i] = realloc(orphan[i], 6000);
      CHECK(orphan[i] != NULL && is_filled(orphan[i], 10, (unsigned)i));
    }
    free(orphan[i]);
  }
  return argument;
}

// Blocks of threads that ended are freed, grown and measured by others; their room is used again.
//@ broken-by orphan_lost orphan_leak
CASE(orphan_blocks) {
  size_t early_bytes = 0;
  for (int round = 0; round < 40; ++round) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, make_orphans, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (round % 2) {
      release_orphans(NULL);
    } else {
      CHECK(pthread_create(&thread, NULL, release_orphans, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    if (round == 5) early_bytes = resident_bytes();
  }
  CHECK(resident_bytes() < early_bytes + ((size_t)20 << 20));
}
