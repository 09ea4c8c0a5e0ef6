// Threads free each other's blocks, end and fork.
//@ tarn-only
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
//@ broken-by fork_deadlock TARN_LIMIT=1M
#include <pthread.h>
#include <sys/wait.h>

#include "../check.h"

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

int main(void) {
  for (int round = 0; round < rounds; ++round) {
    pthread_t started[threads];
    for (uintptr_t i = 0; i < threads; ++i) CHECK(pthread_create(&started[i], NULL, work, (void*)i) == 0);
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(started[i], NULL) == 0);
  }
  for (int i = 0; i < threads; ++i) {
    for (int k = 0; k < blocks; ++k) free(slots[i][k]);
  }
  return 0;
}
