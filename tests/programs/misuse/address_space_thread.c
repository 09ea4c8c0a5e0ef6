// The address space is full when threads first allocate: null and ENOMEM, or a block; none crashes.
//@ limit as=200M
//@ broken-by no_errno
#include <errno.h>
#include <pthread.h>
#include "../check.h"

static pthread_barrier_t full;

static void* work(void* argument) {
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

int main(void) {
  void** last = NULL;
  pthread_t threads[5];
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
  CHECK(pthread_barrier_init(&full, NULL, 5) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], &small, work, &full) == 0);
  for (size_t size = (size_t)64 << 20; size >= 64; size /= 2) {
    for (void** p; (p = malloc(size)) != NULL; last = p) *p = last;
  }
  pthread_barrier_wait(&full);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  if (pthread_create(&threads[4], &small, work, NULL) == 0) CHECK(pthread_join(threads[4], NULL) == 0);
  while (last != NULL) {
    void** next = *last;
    free(last);
    last = next;
  }
  CHECK(pthread_create(&threads[0], &small, work, NULL) == 0 && pthread_join(threads[0], NULL) == 0);
  return 0;
}
