// Eight threads under ulimit -v of 256 MiB use up all there is, see ENOMEM, free, and go on.
//@ limit as=256M
//@ broken-by reserves_much no_errno
#include <errno.h>
#include <pthread.h>
#include "../check.h"

static pthread_barrier_t together;
static size_t total;

static void* work(void* argument) {
  for (int round = 0; round < 3; ++round) {
    void** last = NULL;
    pthread_barrier_wait(&together);
    errno = 0;
    for (void** p; (p = malloc(5000)) != NULL; last = p) {
      *p = last;
      if (round == 0) __atomic_add_fetch(&total, 5000, __ATOMIC_RELAXED);
    }
    CHECK(errno == ENOMEM);
    pthread_barrier_wait(&together);
    while (last != NULL) {
      void** next = *last;
      free(last);
      last = next;
    }
    pthread_barrier_wait(&together);
    free(argument = malloc(100));
    CHECK(argument != NULL);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[8];
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
  CHECK(pthread_barrier_init(&together, NULL, 8) == 0);
  for (int i = 0; i < 8; ++i) CHECK(pthread_create(&threads[i], &small, work, NULL) == 0);
  for (int i = 0; i < 8; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(total > (size_t)100 << 20);
  return 0;
}
