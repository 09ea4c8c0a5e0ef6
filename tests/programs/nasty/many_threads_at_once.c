// A thousand threads alive at once, each with blocks; then they end, and again: memory settles.
//@ broken-by thread_leak
#include <pthread.h>
#include "../check.h"

enum { count = 1000 };
static pthread_barrier_t all_there;

static void* work(void* argument) {
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

int main(void) {
  static pthread_t threads[count];
  size_t settled = 0;
  CHECK(pthread_barrier_init(&all_there, NULL, count) == 0);
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
  for (int round = 0; round < 12; ++round) {
    for (uintptr_t i = 0; i < count; ++i) {
      CHECK(pthread_create(&threads[i], &small, work, (void*)i) == 0);
    }
    for (int i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    if (round == 7) settled = resident_bytes();
  }
  CHECK(resident_bytes() < settled + ((size_t)8 << 20));
  CHECK(resident_bytes() < (size_t)250 << 20);
  return 0;
}
