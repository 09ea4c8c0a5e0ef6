// pthread_cancel of threads that allocate: malloc and free are no cancellation points.
//@ broken-by cancel_point
#include <pthread.h>
#include "../check.h"

static int finished;

static void clean(void* p) {
  free(p);
  free(malloc(5000));
}

static void* pending(void* argument) {
  void* kept = malloc(700);
  pthread_cleanup_push(clean, kept);
  pthread_cancel(pthread_self());
  for (int i = 0; i < 300; ++i) {
    void* p[40];
    for (size_t j = 0; j < 40; ++j) p[j] = malloc(j * j * j + 1);
    for (size_t j = 0; j < 40; ++j) p[j] = realloc(p[j], j * 900 + 1);
    for (size_t j = 0; j < 40; ++j) free(p[j]);
    free(calloc(1, 3000000));
  }
  __atomic_add_fetch(&finished, 1, __ATOMIC_RELAXED);
  pthread_testcancel();
  pthread_cleanup_pop(0);
  return argument;
}

static void* loop(void* argument) {
  void* kept = malloc(700);
  pthread_cleanup_push(clean, kept);
  for (;;) {
    for (size_t j = 0; j < 100; ++j) free(malloc(j * 40));
    pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return argument;
}

int main(void) {
  for (int round = 0; round < 10; ++round) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) {
      CHECK(pthread_create(&threads[i], NULL, i % 2 ? pending : loop, NULL) == 0);
    }
    usleep(2000);
    for (int i = 0; i < 8; i += 2) CHECK(pthread_cancel(threads[i]) == 0);
    for (int i = 0; i < 8; ++i) {
      void* result = NULL;
      CHECK(pthread_join(threads[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
  }
  CHECK(finished == 40);
  return 0;
}
