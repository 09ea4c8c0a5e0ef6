// Limits that are reached.
#include <errno.h>
#include <pthread.h>

#include "../cases.h"
#include "../take_all.h"

// One request above the limit fails, however it is made; one below it succeeds; realloc keeps its block.
//@ tarn-only
//@ env TARN_LIMIT=64MiB
CASE(limit_large) {
  const size_t too_much = (size_t)65 << 20;
  for (int round = 0; round < 3; ++round) {
    errno = 0;
    CHECK(malloc(too_much) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(too_much, 1) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(aligned_alloc(4096, too_much) == NULL && errno == ENOMEM);
    char* p = malloc((size_t)20 << 20);
    CHECK(p != NULL);
    fill(p, 10000, 1);
    errno = 0;
    CHECK(realloc(p, too_much) == NULL && errno == ENOMEM);
    CHECK(is_filled(p, 10000, 1));
    p = realloc(p, (size_t)30 << 20);
    CHECK(p != NULL && is_filled(p, 10000, 1));
    free(p);
  }
}

// TARN_LIMIT: null and ENOMEM when it is reached, at least 52 of 64 MiB usable, and free makes room.
//@ tarn-only
//@ env TARN_LIMIT=64M
CASE(limit_malloc) {
  const size_t sizes[] = {1024, 64, 5000, 100000, 1 << 20, 1024, 10000000};
  for (int i = 0; i < 7; ++i) {
    size_t allocated_bytes = take_all(sizes[i], (size_t)64 << 20);
    size_t min_bytes = (size_t)(sizes[i] == 10000000 ? 48 : 52) << 20;
    CHECK(allocated_bytes >= min_bytes / (sizes[i] + block_extra(sizes[i])) * sizes[i]);
  }
}

static pthread_barrier_t barrier;
static size_t total;

static void* take_share(void* argument) {
  void** last = NULL;
  pthread_barrier_wait(&barrier);
  errno = 0;
  for (void** p; (p = malloc(5000)) != NULL; last = p) {
    *p = last;
    CHECK(__atomic_add_fetch(&total, 5000, __ATOMIC_RELAXED) <= (size_t)64 << 20);
  }
  CHECK(errno == ENOMEM);
  pthread_barrier_wait(&barrier);
  while (last != NULL) {
    void** next = *last;
    free(last);
    last = next;
  }
  return argument;
}

// The limit is the process's: four threads together get no more than it.
//@ tarn-only
//@ env TARN_LIMIT=64M
CASE(limit_threads) {
  pthread_t threads[4];
  CHECK(pthread_barrier_init(&barrier, NULL, 4) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, take_share, NULL) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(total >= (size_t)44 << 20);
}

// A limit too small for anything: every malloc is refused, nothing crashes.
//@ tarn-only
//@ env TARN_LIMIT=4K
CASE(limit_tiny) {
  for (int i = 0; i < 1000; ++i) {
    errno = 0;
    CHECK(malloc((size_t)i * 100 + 8192) == NULL && errno == ENOMEM);
  }
}

// The address space runs out: null and ENOMEM, the blocks stay good, and freeing makes room.
//@ limit as=300M
//@ broken-by no_errno malloc_overlap
CASE(address_space_malloc) {
  for (int round = 0; round < 2; ++round) {
    char** last = NULL;
    unsigned seed = 0;
    errno = 0;
    for (char** p; (p = malloc(seed % 1000 * 100 + 16)) != NULL; last = p, ++seed) {
      p[0] = (char*)last;
      fill(p + 1, 8, seed);
    }
    CHECK(errno == ENOMEM && seed > 3000);
    errno = 0;
    CHECK(calloc(1, (size_t)100 << 20) == NULL && errno == ENOMEM);
    while (last != NULL) {
      CHECK(is_filled(last + 1, 8, --seed));
      char** next = (char**)last[0];
      free(last);
      last = next;
    }
    CHECK(seed == 0);
  }
}

static pthread_barrier_t full;

static void* try_sizes(void* argument) {
  if (argument != NULL) pthread_barrier_wait(&full);
  for (size_t size = 1; size < 10000000; size *= 3) {
    errno = 0;
    char* p = malloc(size);
    CHECK(p != NULL || errno == ENOMEM);
    if (p != NULL) p[size - 1] = 1;
    free(p);
  }
  return argument;
}

// The address space is full when threads first allocate: null and ENOMEM, or a block; none crashes.
//@ limit as=200M
//@ broken-by no_errno
CASE(address_space_thread) {
  void** last = NULL;
  pthread_t threads[5];
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
  CHECK(pthread_barrier_init(&full, NULL, 5) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], &small, try_sizes, &full) == 0);
  for (size_t size = (size_t)64 << 20; size >= 64; size /= 2) {
    for (void** p; (p = malloc(size)) != NULL; last = p) *p = last;
  }
  pthread_barrier_wait(&full);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  if (pthread_create(&threads[4], &small, try_sizes, NULL) == 0) CHECK(pthread_join(threads[4], NULL) == 0);
  while (last != NULL) {
    void** next = *last;
    free(last);
    last = next;
  }
  CHECK(pthread_create(&threads[0], &small, try_sizes, NULL) == 0 && pthread_join(threads[0], NULL) == 0);
}
