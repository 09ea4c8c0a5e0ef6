// The limit is the process's: four threads together get no more than it.
//@ tarn-only
//@ env TARN_LIMIT=64M
#include <errno.h>
#include <pthread.h>
#include "../check.h"

static pthread_barrier_t together;
static size_t total;

static void* work(void* argument) {
  void** last = NULL;
  pthread_barrier_wait(&together);
  errno = 0;
  for (void** p; (p = malloc(5000)) != NULL; last = p) {
    *p = last;
    CHECK(__atomic_add_fetch(&total, 5000, __ATOMIC_RELAXED) <= (size_t)64 << 20);
  }
  CHECK(errno == ENOMEM);
  pthread_barrier_wait(&together);
  while (last != NULL) {
    void** next = *last;
    free(last);
    last = next;
  }
  return argument;
}

int main(void) {
  pthread_t threads[4];
  CHECK(pthread_barrier_init(&together, NULL, 4) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(total >= (size_t)44 << 20);
  return 0;
}
