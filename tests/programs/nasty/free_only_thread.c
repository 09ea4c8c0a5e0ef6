// A thread that never allocates frees what another makes: the memory goes round, it does not grow.
//@ broken-by cross_free_lost
#include <pthread.h>
#include <semaphore.h>
#include "../check.h"

enum { ring = 4096 };
static char* slots[ring];
static sem_t full, empty;

static void* consume(void* argument) {
  for (int i = 0;; i = (i + 1) % ring) {
    while (sem_wait(&full) != 0) continue;
    if (slots[i] == NULL) return argument;
    CHECK(slots[i][0] == (char)i);
    free(slots[i]);
    sem_post(&empty);
  }
}

int main(void) {
  pthread_t thread;
  CHECK(sem_init(&full, 0, 0) == 0 && sem_init(&empty, 0, ring) == 0);
  CHECK(pthread_create(&thread, NULL, consume, NULL) == 0);
  for (int i = 0; i <= 400000; ++i) {
    while (sem_wait(&empty) != 0) continue;
    slots[i % ring] = i == 400000 ? NULL : malloc((size_t)i % 2000 + 1);
    if (i < 400000) memset(slots[i % ring], i % ring, (size_t)i % 2000 + 1);
    sem_post(&full);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(resident_bytes() < (size_t)64 << 20);
  return 0;
}
