// Threads with the smallest stack the system allows run every slow path of the allocator.
//@ broken-by big_stack
#include <limits.h>
#include <pthread.h>
#include "../check.h"

static void* work(void* argument) {
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

int main(void) {
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0);
  CHECK(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
  for (int round = 0; round < 20; ++round) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], &small, work, NULL) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  return 0;
}
