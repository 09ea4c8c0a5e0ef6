// Threads that share blocks, and unusual stacks.
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../cases.h"

enum { coroutines = 20, stack = 16384 };
static ucontext_t main_context, contexts[coroutines];
static char* shared[coroutines];

static void body(int number) {
  for (int step = 0; step < 200; ++step) {
    int slot = (number + step) % coroutines;
    CHECK(shared[slot] == NULL || is_filled(shared[slot], 50, (unsigned)slot));
    free(shared[slot]);
    shared[slot] = malloc((size_t)step * 400 + 50);
    CHECK(shared[slot] != NULL);
    fill(shared[slot], 50, (unsigned)slot);
    swapcontext(&contexts[number], &main_context);
  }
}

// Coroutines on 16 KiB stacks of their own allocate, switch and free each other's blocks.
//@ broken-by big_stack
CASE(coroutine_stacks) {
  for (int i = 0; i < coroutines; ++i) {
    getcontext(&contexts[i]);
    char* room = mmap(NULL, stack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(room != MAP_FAILED && mprotect(room, 4096, PROT_NONE) == 0);
    contexts[i].uc_stack.ss_sp = room + 4096;
    contexts[i].uc_stack.ss_size = stack;
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], (void (*)(void))body, 1, i);
  }
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < coroutines; ++i) swapcontext(&main_context, &contexts[i]);
  }
  for (int i = 0; i < coroutines; ++i) free(shared[i]);
}

enum { crowd = 500, crowd_sizes = 60 };
static pthread_mutex_t crowd_turn = PTHREAD_MUTEX_INITIALIZER;
static sem_t crowd_served, crowd_end;

static void* serve_in_crowd(void* argument) {
  char* blocks[crowd_sizes];
  pthread_mutex_lock(&crowd_turn);  // so that the blocks in use are those of one thread
  for (int i = 0; i < crowd_sizes; ++i) {
    blocks[i] = malloc((size_t)i * 64 + 10);
    CHECK(blocks[i] != NULL);
    fill(blocks[i], (size_t)i * 64 + 10, (unsigned)i);
  }
  for (int i = 0; i < crowd_sizes; ++i) {
    CHECK(is_filled(blocks[i], (size_t)i * 64 + 10, (unsigned)i));
    free(blocks[i]);
  }
  pthread_mutex_unlock(&crowd_turn);
  sem_post(&crowd_served);
  while (sem_wait(&crowd_end) != 0) continue;
  return argument;
}

// Threads that sleep after they have freed their blocks keep little if they share heaps.
//@ tarn-only
//@ env TARN_THREAD_HEAPS=4
//@ env TARN_BACKGROUND_PURGE=0
//@ broken-by TARN_THREAD_HEAPS=0
//@ not-under qemu the memory of its own threads counts, too
CASE(thread_heaps_bound_memory) {
  if (guarded()) return;  // all threads share one heap
  pthread_t threads[crowd];
  CHECK(sem_init(&crowd_served, 0, 0) == 0 && sem_init(&crowd_end, 0, 0) == 0);
  const size_t before = resident_bytes();
  for (int i = 0; i < crowd; ++i) CHECK(pthread_create(&threads[i], NULL, serve_in_crowd, NULL) == 0);
  for (int i = 0; i < crowd; ++i) {
    while (sem_wait(&crowd_served) != 0) continue;
  }
  CHECK(resident_bytes() < before + ((size_t)40 << 20));
  for (int i = 0; i < crowd; ++i) sem_post(&crowd_end);
  for (int i = 0; i < crowd; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

enum { sleepers = 8, sleeper_blocks = 1500, sleeper_bytes = 3000 };
static char* given_blocks[sleepers][sleeper_blocks];
static pthread_barrier_t sleepers_ready;

static void* allocate_and_sleep(void* argument) {
  char** blocks = argument;
  for (int i = 0; i < sleeper_blocks; ++i) {
    blocks[i] = malloc(sleeper_bytes);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, sleeper_bytes);
  }
  pthread_barrier_wait(&sleepers_ready);
  for (;;) pause();
}

static void free_blocks_of_sleepers(void) {
  if (guarded()) return;  // all threads share one heap
  pthread_t thread;
  CHECK(pthread_barrier_init(&sleepers_ready, NULL, sleepers + 1) == 0);
  free(malloc(1));
  const size_t before = resident_bytes();
  for (int i = 0; i < sleepers; ++i) CHECK(pthread_create(&thread, NULL, allocate_and_sleep, given_blocks[i]) == 0);
  pthread_barrier_wait(&sleepers_ready);
  CHECK(resident_bytes() > before + ((size_t)30 << 20));
  for (int i = 0; i < sleepers; ++i) {
    for (int j = 0; j < sleeper_blocks; ++j) free(given_blocks[i][j]);
  }
  for (unsigned i = 0; i < 500 && resident_bytes() > before + ((size_t)8 << 20); ++i) usleep(10000);
  CHECK(resident_bytes() <= before + ((size_t)8 << 20));
}

// Another thread frees the blocks of threads that share heaps and sleep: the memory goes back.
//@ tarn-only
//@ env TARN_THREAD_HEAPS=1
//@ broken-by free_leaks
//@ not-under qemu the memory of its own threads counts, too
CASE(shared_heap_of_sleepers_shrinks) { free_blocks_of_sleepers(); }

// So it is where some of the threads have heaps of their own.
//@ tarn-only
//@ not-under old_kernel without membarrier nobody visits the heap of a thread that sleeps
//@ env TARN_THREAD_HEAPS=4
//@ broken-by free_leaks
//@ not-under qemu the memory of its own threads counts, too
CASE(some_shared_heaps_of_sleepers_shrink) { free_blocks_of_sleepers(); }

enum { ring = 4096 };
static char* slots[ring];
static sem_t full, empty;

static void* consume(void* argument) {
  for (int i = 0;; i = (i + 1) % ring) {
    while (sem_wait(&full) != 0) continue;
    if (slots[i] == NULL) return argument;
    CHECK(slots[i][0] == (char)i);
    free(slots[i]);
    sem_post(&empty);
  }
}

// A thread that never allocates frees another thread's blocks: the memory circulates and does not grow.
//@ broken-by cross_free_lost
CASE(free_only_thread) {
  pthread_t thread;
  CHECK(sem_init(&full, 0, 0) == 0 && sem_init(&empty, 0, ring) == 0);
  CHECK(pthread_create(&thread, NULL, consume, NULL) == 0);
  for (int i = 0; i <= 400000; ++i) {
    while (sem_wait(&empty) != 0) continue;
    slots[i % ring] = i == 400000 ? NULL : malloc((size_t)i % 2000 + 1);
    if (i < 400000) memset(slots[i % ring], i % ring, (size_t)i % 2000 + 1);
    sem_post(&full);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(resident_bytes() < (size_t)64 << 20);
}

struct frame {
  jmp_buf start;
  char* blocks[64];
  int block_count;
};

static void dive(struct frame* f, int depth) {
  char* p = malloc((size_t)depth * 30 + 1);
  CHECK(p != NULL);
  fill(p, (size_t)depth * 30 + 1, (unsigned)depth);
  f->blocks[f->block_count++] = p;
  if (depth >= 60) longjmp(f->start, 1);
  dive(f, depth + 1);
}

static void* dive_often(void* argument) {
  for (int round = 0; round < 3000; ++round) {
    struct frame* f = malloc(sizeof *f);
    f->block_count = 0;
    if (setjmp(f->start) == 0) dive(f, round % 50);
    for (int i = 0; i < f->block_count; ++i) {
      size_t depth = (size_t)(round % 50 + i);
      CHECK(is_filled(f->blocks[i], depth * 30 + 1, (unsigned)depth));
      free(f->blocks[i]);
    }
    free(f);
  }
  return argument;
}

// longjmp out of deep calls between allocations, from several threads: no lock or state is left.
//@ broken-by malloc_overlap
CASE(longjmp_between) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, dive_often, NULL) == 0);
  dive_often(NULL);
  CHECK(pthread_join(thread, NULL) == 0);
}

enum { max_blocks = 512000, size = 64 };
static char* owned_blocks[max_blocks];
static int owners, blocks_each;
static pthread_barrier_t turn;

static void* allocate_in_turn(void* argument) {
  char** own_blocks = argument;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < blocks_each; ++i) {
      own_blocks[i] = malloc(size);
      CHECK(own_blocks[i] != NULL);
      memset(own_blocks[i], 1, size);
    }
    pthread_barrier_wait(&turn);  // all have allocated
    pthread_barrier_wait(&turn);  // all is freed
  }
  return NULL;
}

static void free_all_of(int wanted_owners, int wanted_count) {
  static pthread_t threads[1000];
  owners = wanted_owners;
  blocks_each = wanted_count;
  size_t payload = (size_t)owners * (size_t)blocks_each * (guarded() ? size + guarded_extra : size);
  // Up to 32 KiB of each hardened owner's blocks wait in its quarantine, and keep the rest of their slabs.
  const size_t quarantined = hardened() ? (size_t)owners * (size_t)48 * 1024 : 0;
  CHECK(pthread_barrier_init(&turn, NULL, (unsigned)owners + 1) == 0);
  for (int i = 0; i < owners; ++i)
    CHECK(pthread_create(&threads[i], NULL, allocate_in_turn, owned_blocks + (size_t)i * (size_t)blocks_each) == 0);
  size_t full = 0;
  for (int round = 0; round < 3; ++round) {
    pthread_barrier_wait(&turn);
    if (round == 0) full = resident_bytes();
    // Where blocks are guarded, a purge between two rounds leaves slabs that blocks in the quarantine hold.
    CHECK(resident_bytes() < full + payload / (guarded() ? 2 : 4) + quarantined);
    for (int i = 0; i < blocks_each; ++i) {
      for (int owner = 0; owner < owners; ++owner) free(owned_blocks[(size_t)owner * (size_t)blocks_each + (size_t)i]);
    }
    CHECK(resident_bytes() < full + payload / (guarded() ? 2 : 5) + quarantined);
    if (round == 1) {
      malloc_trim(0);
      CHECK(guarded() || resident_bytes() < full - payload / 2 + quarantined);
    }
    pthread_barrier_wait(&turn);
  }
  for (int i = 0; i < owners; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&turn) == 0);
}

// One thread frees the blocks of many sleeping threads, in turn: that takes no memory, malloc_trim gives their
// pages back, and the owners find all of their blocks when they wake.
//@ broken-by orphan_leak
CASE(many_owners) {
  memset(owned_blocks, 0, sizeof owned_blocks);
  free_all_of(64, 8000);
  free_all_of(500, 1024);
}

struct buffer {
  char* bytes;
  size_t size;
};

static void* grow(void* argument) {
  struct buffer* b = argument;
  size_t larger = b->size * 5 / 4 + 1;
  b->bytes = realloc(b->bytes, larger);
  CHECK(b->bytes != NULL && is_filled(b->bytes, b->size, 6));
  fill(b->bytes, larger, 6);
  b->size = larger;
  return NULL;
}

// A block made in one thread is grown in the next, thread after thread, and keeps its contents.
//@ broken-by realloc_drops realloc_moves_wrong
CASE(realloc_across_threads) {
  struct buffer buffers[20];
  for (int i = 0; i < 20; ++i) {
    buffers[i].size = (size_t)i + 1;
    buffers[i].bytes = malloc(buffers[i].size);
    fill(buffers[i].bytes, buffers[i].size, 6);
  }
  for (int step = 0; step < 50; ++step) {
    pthread_t threads[20];
    for (int i = 0; i < 20; ++i) {
      CHECK(pthread_create(&threads[i], NULL, grow, &buffers[i]) == 0);
    }
    for (int i = 0; i < 20; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  for (int i = 0; i < 20; ++i) {
    CHECK(is_filled(buffers[i].bytes, buffers[i].size, 6));
    free(buffers[i].bytes);
  }
}

static void* take_slow_paths(void* argument) {
  for (size_t size = 1; size < (size_t)30 << 20; size = size * 3 / 2 + 1) {
    char* p = malloc(size);
    CHECK(p != NULL);
    p[0] = p[size - 1] = 1;
    p = realloc(p, size * 2);
    CHECK(p != NULL && p[0] == 1);
    free(p);
    free(aligned_alloc(4096, size));
    free(calloc(1, size));
  }
  return argument;
}

// Threads with the smallest stack the system allows run every slow path of the allocator.
//@ broken-by big_stack
CASE(small_stacks) {
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0);
  CHECK(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
  for (int round = 0; round < 5; ++round) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], &small, take_slow_paths, NULL) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
}

static void* report(void* argument) {
  malloc_stats();
  return argument;
}

static void* use(void* argument) {
  free(malloc(100));
  return argument;
}

// A report of statistics that nobody reads yet holds up its writer, and no other thread.
//@ broken-by stats_deadlock
CASE(stats_unread) {
  int ends[2], blocks = dup(2);
  CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
  char page[4096] = "";
  CHECK(write(ends[1], page, sizeof page) == sizeof page);  // full
  CHECK(dup2(ends[1], 2) == 2);
  pthread_t reporting, user;
  CHECK(pthread_create(&reporting, NULL, report, NULL) == 0);
  usleep(100000);  // lets the report reach its write; the check holds in any case
  alarm(hang_seconds());
  for (int i = 0; i < 3; ++i) {  // each needs a heap
    CHECK(pthread_create(&user, NULL, use, NULL) == 0 && pthread_join(user, NULL) == 0);
  }
  CHECK(read(ends[0], page, sizeof page) == sizeof page);
  CHECK(read(ends[0], page, 5) == 5 && memcmp(page, "tarn:", 5) == 0);
  CHECK(dup2(blocks, 2) == 2);
}

// A thread is cancelled while its report waits for a reader. No lock stays with it: the next reports come to their end,
// and so do calls of malloc.
//@ broken-by text
CASE(stats_cancelled) {
  int ends[2], blocks = dup(2);
  CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  char page[4096] = "";
  CHECK(write(ends[1], page, sizeof page) == sizeof page);  // full
  CHECK(dup2(ends[1], 2) == 2);
  pthread_t reporting, user;
  CHECK(pthread_create(&reporting, NULL, report, NULL) == 0);
  usleep(100000);  // lets the report reach its write; the check holds in any case
  alarm(hang_seconds());
  CHECK(pthread_cancel(reporting) == 0);
  while (pthread_tryjoin_np(reporting, NULL) != 0) {
    CHECK(read(ends[0], page, sizeof page) != 0);
    usleep(1000);
  }
  const int nowhere = open("/dev/null", O_WRONLY);
  CHECK(nowhere >= 0 && dup2(nowhere, 2) == 2);
  for (int i = 0; i < 3; ++i) {
    CHECK(pthread_create(&user, NULL, i == 0 ? report : use, NULL) == 0 && pthread_join(user, NULL) == 0);
    report(NULL);
  }
  CHECK(dup2(blocks, 2) == 2);
}
