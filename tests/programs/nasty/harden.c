// Programs on hardened blocks.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../cases.h"

enum { fresh_blocks = 500 };

static void check_sizes(void) {
  for (size_t n = 0; n < 300000; n = n * 9 / 8 + 1) {
    char* p = malloc(n);
    CHECK(p != NULL && is_aligned(p, 16) && malloc_usable_size(p) >= n);
    CHECK(n > 262136 || malloc_usable_size(p) == n);
    fill(p, n, 3);
    free(p);
    char* zeroed = calloc(1, n);
    CHECK(zeroed != NULL && is_zero(zeroed, n));
    fill(zeroed, n, 5);
    free(zeroed);
    for (size_t alignment = 16; alignment <= 131072; alignment *= 2) {
      char* aligned = aligned_alloc(alignment, n);
      CHECK(aligned != NULL && is_aligned(aligned, alignment));
      fill(aligned, n, 7);
      free(aligned);
    }
  }
}

static void check_realloc(void) {
  for (size_t first = 1; first < 600000; first = first * 5 / 2 + 3) {
    for (size_t second = 1; second < 600000; second = second * 7 / 4 + 1) {
      char* p = malloc(first);
      fill(p, first, 11);
      p = realloc(p, second);
      CHECK(p != NULL && is_filled(p, first < second ? first : second, 11));
      fill(p, second, 13);
      p = realloc(p, first);
      CHECK(p != NULL && is_filled(p, first < second ? first : second, 13));
      free(p);
    }
  }
}

// Returns how many of the next fresh_blocks are the one that was freed last.
static int reused_at_once(void) {
  int count = 0;
  for (int i = 0; i < fresh_blocks; ++i) {
    void* first = malloc(64);
    free(first);
    void* second = malloc(64);
    count += first == second;
    free(second);
  }
  return count;
}

// Returns how many of fresh_blocks follow the one before them in memory.
static int in_order(void) {
  int count = 0;
  char* before = malloc(112);
  for (int i = 0; i < fresh_blocks; ++i) {
    char* next = malloc(112);
    count += next > before && next < before + 256;
    before = next;
  }
  return count;
}

// A hardened program can rely on sizes, zeroes, alignments and contents across realloc; no block is reused at once.
//@ broken-by nothing TARN_HARDEN=0
CASE(harden_behaviour) {
  check_sizes();
  check_realloc();
  CHECK(reused_at_once() == 0);
  CHECK(in_order() < fresh_blocks / 2);
}

// Returns the number of blocks in use that the statistics tell. Each call appends them to the file.
static long blocks_in_use(void) {
  static off_t read_so_far = 0;
  char text[8192] = "";
  malloc_stats();
  const int file = open("report", O_RDONLY);
  CHECK(file >= 0);
  const ssize_t length = pread(file, text, sizeof text - 1, read_so_far);
  CHECK(length > 0 && close(file) == 0);
  read_so_far += length;
  const char* const sums = strstr(text, "\nall heaps ever");
  long count = -1;
  CHECK(sums != NULL && sscanf(sums, " all heaps ever - %*u %*u %ld", &count) == 1);
  return count;
}

// Statistics count calls as they come, and take nothing from the quarantine and the random order.
//@ env TARN_STATS=text
//@ env TARN_STATS_FILE=report
//@ broken-by TARN_HARDEN=0 TARN_STATS=off
CASE(harden_with_statistics) {
  const size_t sizes[] = {40, 3000, 100000};
  for (int i = 0; i < 3; ++i) {
    void* blocks[100];
    const long before = blocks_in_use();
    for (int block = 0; block < 100; ++block) blocks[block] = malloc(sizes[i]);
    CHECK(blocks_in_use() == before + 100);
    for (int block = 0; block < 97; ++block) free(blocks[block]);
    CHECK(blocks_in_use() == before + 3);
  }
  CHECK(reused_at_once() == 0);
  CHECK(in_order() < fresh_blocks / 2);
}

// Samples of each call take nothing from them either: 128 blocks are sampled, and the others wait in the quarantine.
//@ env TARN_SAMPLE_GUARDS=1
//@ broken-by TARN_HARDEN=0
CASE(harden_with_every_block_sampled) {
  for (int i = 0; i < 200; ++i) CHECK(malloc(64) != NULL && malloc(112) != NULL);
  CHECK(reused_at_once() == 0);
  CHECK(in_order() < fresh_blocks / 2);
}

enum { max_blocks = 1000, freed = 30 };

// Where the limit is reached, the blocks in quarantine are used again before an allocation fails.
//@ env TARN_LIMIT=2M
//@ broken-by TARN_LIMIT=0
CASE(harden_quarantine_gives_way) {
  static void* blocks[max_blocks];
  int count = 0;
  while (count < max_blocks && (blocks[count] = malloc(8000)) != NULL) ++count;
  CHECK(count > freed && count < max_blocks);
  for (int i = 0; i < freed; ++i) free(blocks[i]);
  for (int i = 0; i < freed; ++i) {
    blocks[i] = malloc(8000);
    CHECK(blocks[i] != NULL);
  }
}

enum { threads = 4, rounds = 20, blocks = 400 };

static void* slots[threads][blocks];

static void* work(void* argument) {
  const unsigned number = (unsigned)(uintptr_t)argument;
  unsigned random = number + 1;
  for (int i = 0; i < blocks; ++i) {
    const size_t n = next_random(&random) % 3000;
    char* p = i % 2 == 0 ? malloc(n) : calloc(1, n);
    CHECK(p != NULL);
    fill(p, n, number);
    void* old = __atomic_exchange_n(&slots[(number + (unsigned)i) % threads][i], p, __ATOMIC_ACQ_REL);
    if (i % 3 == 0) old = realloc(old, 1 + next_random(&random) % 6000);
    free(old);
  }
  if (number == 0) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      for (int i = 0; i < 5000; ++i) free(malloc((size_t)i));
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  return NULL;
}

// Threads free each other's blocks, end and fork.
//@ broken-by TARN_LIMIT=1M
CASE(harden_threads) {
  for (int round = 0; round < rounds; ++round) {
    pthread_t started[threads];
    for (uintptr_t i = 0; i < threads; ++i) CHECK(pthread_create(&started[i], NULL, work, (void*)i) == 0);
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(started[i], NULL) == 0);
  }
  for (int i = 0; i < threads; ++i) {
    for (int k = 0; k < blocks; ++k) free(slots[i][k]);
  }
}

enum { late_bytes = 16000, left_blocks = 40, late_blocks = 400 };

// The threads below reach these steps one after the other.
enum { prepared = 1, freeing, adopted, has_freed };
static int reached;
static char* late_block;
static pthread_key_t late_key;

static void wait_for_step(int step) {
  while (__atomic_load_n(&reached, __ATOMIC_ACQUIRE) < step) usleep(1000);
}
static void reach(int step) { __atomic_store_n(&reached, step, __ATOMIC_RELEASE); }

// The free of late_block has found its owner, and reads the block.
static void stop_the_free(int number) {
  CHECK(number == SIGSEGV);
  reach(freeing);
  wait_for_step(adopted);
  CHECK(mprotect(late_block, 4096, PROT_READ | PROT_WRITE) == 0);
}

// Leaves blocks in slabs of which the others are free, so that another heap adopts them.
static void* leave_blocks(void* unused) {
  char* left[left_blocks];
  for (int i = 0; i < left_blocks; ++i) {
    left[i] = malloc(late_bytes);
    fill(left[i], late_bytes, 7);
  }
  for (int i = 0; i < left_blocks; ++i) {
    if (late_block == NULL && is_aligned(left[i], 4096)) {
      late_block = left[i];
    } else if (i % 6 != 0) {
      free(left[i]);
    }
  }
  return unused;
}

// Runs in the second round of destructors, when the thread's own heap has ended.
static void work_late(void* value) {
  const uintptr_t number = (uintptr_t)value;
  if (number > 2) {
    CHECK(pthread_setspecific(late_key, (void*)(number - 2)) == 0);
    return;
  }
  if (number == 1) {
    free(late_block);
    reach(has_freed);
    return;
  }
  wait_for_step(freeing);
  for (int i = 0; i < late_blocks; ++i) CHECK(malloc(late_bytes) != NULL);
  reach(adopted);
  wait_for_step(has_freed);
  for (int i = 0; i < late_blocks; ++i) CHECK(malloc(late_bytes) != NULL);
}

static void* end_late(void* number) {
  free(malloc(24));
  CHECK(pthread_setspecific(late_key, (void*)((uintptr_t)number + 2)) == 0);
  wait_for_step(prepared);
  return NULL;
}

// A thread whose heap has ended frees a block of another ended thread. Meanwhile the heap of the process adopts the
// block's slab for a third.
//@ env TARN_SAMPLE_GUARDS=0
//@ broken-by TARN_LIMIT=1M
CASE(harden_late_free_meets_an_adoption) {
  pthread_t ending[2], leaving;
  CHECK(pthread_key_create(&late_key, work_late) == 0);
  for (uintptr_t i = 0; i < 2; ++i) CHECK(pthread_create(&ending[i], NULL, end_late, (void*)(i + 1)) == 0);
  CHECK(pthread_create(&leaving, NULL, leave_blocks, NULL) == 0 && pthread_join(leaving, NULL) == 0);
  CHECK(late_block != NULL);
  CHECK(signal(SIGSEGV, stop_the_free) != SIG_ERR);
  CHECK(mprotect(late_block, 4096, PROT_NONE) == 0);
  reach(prepared);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(ending[i], NULL) == 0);
}
