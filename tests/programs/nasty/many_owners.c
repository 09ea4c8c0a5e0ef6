// One thread frees the blocks of many sleeping threads, in turn: that takes no memory, malloc_trim gives their
// pages back, and the owners find all of their blocks when they wake.
//@ broken-by orphan_leak
#include <pthread.h>
#include "../check.h"

enum { most_blocks = 512000, size = 64 };
static char* p[most_blocks];
static int owners, count;
static pthread_barrier_t turn;

static void* allocate_in_turn(void* argument) {
  char** mine = argument;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      mine[i] = malloc(size);
      CHECK(mine[i] != NULL);
      memset(mine[i], 1, size);
    }
    pthread_barrier_wait(&turn);  // all have allocated
    pthread_barrier_wait(&turn);  // all is freed
  }
  return NULL;
}

static void free_all_of(int wanted_owners, int wanted_count) {
  static pthread_t threads[1000];
  owners = wanted_owners;
  count = wanted_count;
  size_t payload = (size_t)owners * (size_t)count * (guarded() ? size + guarded_extra : size);
  CHECK(pthread_barrier_init(&turn, NULL, (unsigned)owners + 1) == 0);
  for (int i = 0; i < owners; ++i)
    CHECK(pthread_create(&threads[i], NULL, allocate_in_turn, p + (size_t)i * (size_t)count) == 0);
  size_t full = 0;
  for (int round = 0; round < 3; ++round) {
    pthread_barrier_wait(&turn);
    if (round == 0) full = resident_bytes();
    CHECK(resident_bytes() < full + payload / 4);
    for (int i = 0; i < count; ++i) {
      for (int owner = 0; owner < owners; ++owner) free(p[(size_t)owner * (size_t)count + (size_t)i]);
    }
    CHECK(resident_bytes() < full + payload / 5);
    if (round == 1) {
      malloc_trim(0);
      CHECK(guarded() || resident_bytes() < full - payload / 2);
    }
    pthread_barrier_wait(&turn);
  }
  for (int i = 0; i < owners; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&turn) == 0);
}

int main(void) {
  memset(p, 0, sizeof p);
  free_all_of(64, 8000);
  free_all_of(500, 1024);
  return 0;
}
