// Four threads swap blocks through shared slots: any thread frees or grows what another made.
//@ broken-by malloc_overlap realloc_drops
#include <pthread.h>
#include "../check.h"

enum { slots = 512 };
struct block {
  size_t size;
  unsigned seed;
  unsigned char bytes[];
};
static struct block* shared[slots];

static void* work(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  for (int step = 0; step < 60000; ++step) {
    size_t size = next_random(&state) % (step % 100 ? 600 : 60000);
    struct block* b = malloc(sizeof *b + size);
    CHECK(b != NULL);
    b->size = size;
    b->seed = next_random(&state);
    fill(b->bytes, size, b->seed);
    b = __atomic_exchange_n(&shared[next_random(&state) % slots], b, __ATOMIC_ACQ_REL);
    if (b == NULL) continue;
    CHECK(is_filled(b->bytes, b->size, b->seed));
    if (step % 4 == 0) {
      size_t kept = b->size / 2;
      b = realloc(b, sizeof *b + (step % 8 ? kept : b->size * 2));
      CHECK(b != NULL && is_filled(b->bytes, kept, b->seed));
    }
    free(b);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, (void*)(i + 1)) == 0);
  }
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < slots; ++i) free(shared[i]);
  return 0;
}
