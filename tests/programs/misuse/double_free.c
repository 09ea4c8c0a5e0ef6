// Blocks that are freed twice.
//@ tarn-only
//@ signal ABRT
//@ last tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cases.h"

static void free_twice(void* p) {
  note_pointer("p", p);
  free(p);
  free(hidden(p));
}

static void* release(void* p) {
  free(p);
  return NULL;
}

static void run_thread(void* (*body)(void*), void* p) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, body, p) == 0 && pthread_join(thread, NULL) == 0);
}

// A block is freed again after ten others of its size.
//@ stderr tarn: free({p}): double free of a block of 320 bytes
CASE(double_free_after_few) {
  void* p[11];
  for (int i = 0; i < 11; ++i) p[i] = malloc(320);
  note_pointer("p", p[0]);
  for (int i = 0; i < 11; ++i) free(p[i]);
  free(hidden(p[0]));
}

// A block is freed again after five thousand others of its size.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_after_many) {
  enum { count = 5000 };
  static void* p[count];
  for (int i = 0; i < count; ++i) p[i] = malloc(64);
  note_pointer("p", p[0]);
  for (int i = 0; i < count - 1; ++i) free(p[i]);  // the last keeps its slab
  free(hidden(p[0]));
}

// A block is freed again after one other of its size.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_after_one) {
  void* p = malloc(64);
  void* second = malloc(64);
  note_pointer("p", p);
  free(p);
  free(second);
  free(hidden(p));
}

// A block is freed again after blocks of other sizes came and went.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_after_other_sizes) {
  void* keep = hidden(malloc(64));  // the slab stays, which another class may take when it is empty
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  for (size_t size = 100; size < 5000; ++size) free(malloc(size));
  free(hidden(p));
  CHECK(keep != NULL);
}

// A block of aligned_alloc is freed twice.
//@ stderr tarn: free({p}): double free of a block of 4096 bytes
CASE(double_free_aligned) { free_twice(aligned_alloc(4096, 4096)); }

// A block is freed twice in a row.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_at_once) { free_twice(malloc(64)); }

enum { batch_count = 1000 };  // so many blocks go to their owner in batches
static void* batch[batch_count];

// Returns one more block than those in the batch; a thread frees all of them.
static void* allocate_batch(void) {
  for (int i = 0; i < batch_count; ++i) batch[i] = malloc(64);
  void* p = malloc(64);
  note_pointer("p", p);
  return p;
}

static void* release_before_batch(void* p) {
  free(p);
  for (int i = 0; i < batch_count; ++i) free(batch[i]);
  return NULL;
}

static void* release_twice_in_batch(void* p) {
  for (int i = 0; i < batch_count; ++i) {
    free(batch[i]);
    if (i == batch_count / 4 || i == batch_count / 2) free(hidden(p));
  }
  return NULL;
}

static void* release_with_second_half(void* p) {
  free(hidden(p));
  for (int i = batch_count / 2; i < batch_count; ++i) free(batch[i]);
  return NULL;
}

static void* release_with_first_half(void* p) {
  free(p);
  for (int i = 0; i < batch_count / 2; ++i) free(batch[i]);
  return NULL;
}

// A block is freed by its owner, then by another thread among many other blocks.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_batch_after_owner) {
  void* p = allocate_batch();
  free(p);
  run_thread(release_before_batch, p);
  fetch_frees();
}

// A block is freed by another thread among many other blocks, then by its owner.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_batch_before_owner) {
  void* p = allocate_batch();
  run_thread(release_before_batch, p);
  free(hidden(p));
  fetch_frees();
}

// A block is freed by each of two threads, neither of which owns it, among many other blocks.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_batch_two_threads) {
  void* p = allocate_batch();
  run_thread(release_with_first_half, p);
  run_thread(release_with_second_half, p);
  fetch_frees();
}

// The same, and the owner only allocates then, so that it takes both batches in when its magazine is empty.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_batches_then_malloc) {
  void* p = allocate_batch();
  run_thread(release_with_first_half, p);
  run_thread(release_with_second_half, p);
  for (int i = 0; i < 3 * batch_count; ++i) CHECK(malloc(64) != NULL);
}

// A block is freed by its owner, then by another thread. That is seen at the latest when the owner fetches it.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_by_other_thread) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  run_thread(release, hidden(p));
  fetch_frees();
}

// A block of calloc is freed twice.
//@ stderr tarn: free({p}): double free of a block of 1024 bytes
CASE(double_free_calloc) { free_twice(calloc(4, 256)); }

// A block is freed again after any number of others of its size, up to more than a magazine holds. Each count has a
// child of its own, because the program ends there. The parent then does the same with the last count.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_full_magazine) {
  enum { count = 300 };
  void* p[count];
  for (int i = 0; i < count; ++i) p[i] = malloc(64);
  note_pointer("p", p[0]);
  for (int i = 0; i < count - 1; ++i) {  // the last keeps its slab
    free(p[i]);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(2);
      free(hidden(p[0]));
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  }
  free(hidden(p[0]));
}

// A block of 256 MiB is freed twice: its address space has gone back to the system.
//@ stderr tarn: free({p}): double free of a block of 268435456 bytes
CASE(double_free_huge) { free_twice(malloc(256 << 20)); }

// A block of 256 MiB is freed twice, and another block of that kind was allocated meanwhile: what is known of the first
// one has gone. Guarded blocks wait in the quarantine, so their addresses are not free.
//@ env TARN_GUARD=0
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
//@ last tarn: free a block with the allocator that it came from; memory of the stack or a static object is
//@ more never freed
CASE(double_free_huge_before_another) {
  void* p = malloc(256 << 20);
  note_pointer("p", p);
  free(p);
  CHECK(mmap(p, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p);
  void* second = hidden(malloc(300 << 20));
  CHECK(second != NULL && second != p);
  free(hidden(p));
}

// A block is freed twice by a thread that is not its owner, among many other blocks.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_in_batch) {
  run_thread(release_twice_in_batch, allocate_batch());
  fetch_frees();
}

// A block is freed by the parent, then by a child made after that.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_in_child) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  pid_t child = fork();
  if (child == 0) free(hidden(p));
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  kill(getpid(), WTERMSIG(status));
}

// A large block is freed twice.
//@ stderr tarn: free({p}): double free of a block of 1048576 bytes
CASE(double_free_large) { free_twice(malloc(1 << 20)); }

// A block of the largest size class is freed twice.
//@ stderr tarn: free({p}): double free of a block of 262144 bytes
CASE(double_free_largest_class) {
  void* keep = malloc(262144);
  free_twice(malloc(262144));
  CHECK(keep != NULL);
}

static void* left_behind;

static void* make_orphan(void* unused) {
  void* p = malloc(64);
  (void)unused;
  left_behind = malloc(64);
  return p;
}

// The block of an ended thread is freed twice. That is seen at the latest when another thread acts for the heap.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_of_orphan) {
  pthread_t thread;
  void* p = NULL;
  CHECK(pthread_create(&thread, NULL, make_orphan, NULL) == 0 && pthread_join(thread, &p) == 0);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  fetch_frees();
}

// A block is freed by another thread, which ended, then by its owner. That is seen at the latest when the owner fetches
// it.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_other_thread_first) {
  void* p = malloc(64);
  note_pointer("p", p);
  run_thread(release, p);
  free(hidden(p));
  fetch_frees();
}

static void* release_twice(void* p) {
  free(p);
  free(hidden(p));
  return NULL;
}

// A block is freed twice by a thread that is not its owner. That is seen at the latest when the owner fetches it.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_remote_twice) {
  void* p = malloc(64);
  note_pointer("p", p);
  run_thread(release_twice, p);
  fetch_frees();
}

static pthread_barrier_t turn;

static void* release_and_wait(void* p) {
  free(p);
  pthread_barrier_wait(&turn);
  pthread_barrier_wait(&turn);
  return NULL;  // the end of the thread sends the block
}

// A block is freed by another thread, then by its owner, whose slab is gone when the other thread sends what it has
// freed.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_slab_gone) {
  enum { count = 5000 };
  static void* blocks[count];
  void* keep = hidden(malloc(1000));  // the segment stays, which knows what was there
  for (int i = 0; i < count; ++i) blocks[i] = malloc(64);
  void* p = blocks[count / 2];
  note_pointer("p", p);
  CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, release_and_wait, p) == 0);
  pthread_barrier_wait(&turn);
  for (int i = 0; i < count; ++i) free(hidden(blocks[i]));
  malloc_trim(0);
  pthread_barrier_wait(&turn);
  CHECK(pthread_join(thread, NULL) == 0 && keep != NULL);
}

static void* made_elsewhere[20];

static void* make_and_wait(void* argument) {
  for (int i = 0; i < 20; ++i) made_elsewhere[i] = malloc(64);
  pthread_barrier_wait(&turn);
  for (;;) pause();
  return argument;
}

static void* release_all_and_wait(void* p) {
  for (int i = 0; i < 20; ++i) free(made_elsewhere[i]);
  return release_and_wait(p);
}

// The same, after blocks of a third thread: the block without a slab is the last one of a batch of two owners.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_slab_gone_in_batch) {
  enum { count = 5000 };
  static void* blocks[count];
  void* keep = hidden(malloc(1000));
  for (int i = 0; i < count; ++i) blocks[i] = malloc(64);
  void* p = blocks[count / 2];
  note_pointer("p", p);
  CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
  pthread_t maker, thread;
  CHECK(pthread_create(&maker, NULL, make_and_wait, NULL) == 0);
  pthread_barrier_wait(&turn);
  CHECK(pthread_create(&thread, NULL, release_all_and_wait, p) == 0);
  pthread_barrier_wait(&turn);
  for (int i = 0; i < count; ++i) free(hidden(blocks[i]));
  malloc_trim(0);
  pthread_barrier_wait(&turn);
  CHECK(pthread_join(thread, NULL) == 0 && keep != NULL);
}

// A block is freed once by each of two threads, neither of which owns it. That is seen at the latest when the owner
// fetches it.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(double_free_two_threads) {
  void* p = malloc(64);
  note_pointer("p", p);
  for (int i = 0; i < 2; ++i) run_thread(release, hidden(p));
  fetch_frees();
}

// The old address is freed after realloc moved the block.
//@ stderr tarn: free({p}): double free of a block of 64 bytes
CASE(free_after_realloc) {
  void* p = malloc(64);
  note_pointer("p", p);
  void* moved = realloc(p, 100000);
  CHECK(moved != NULL && moved != p);
  free(hidden(p));
}

// A freed block is given to realloc.
//@ stderr tarn: realloc({p}): double free of a block of 64 bytes
CASE(realloc_of_freed) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  CHECK(realloc(hidden(p), 1000) == NULL);
}
