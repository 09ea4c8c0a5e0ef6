// pthread_key destructors that allocate, in all four rounds, with keys older and newer than the
// thread's first block.
//@ broken-by tls_dead
#include <pthread.h>
#include "../check.h"

enum { keys = 40 };
static pthread_key_t key[keys];
static int calls;

static void again(void* value) {
  char* old = value;
  int index = old[0], round = old[1];
  CHECK(is_filled(old + 2, 500, (unsigned)index));
  char* p = malloc(502);
  CHECK(p != NULL);
  p[0] = (char)index;
  p[1] = (char)(round + 1);
  fill(p + 2, 500, (unsigned)index);
  free(old);
  free(malloc((size_t)(round + 1) * 30000));
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (round < 3) {
    pthread_setspecific(key[index], p);
  } else {
    free(p);
  }
}

static void* use(void* argument) {
  for (int i = 0; i < keys; ++i) {
    char* p = calloc(1, 502);
    p[0] = (char)i;
    fill(p + 2, 500, (unsigned)i);
    CHECK(pthread_setspecific(key[i], p) == 0);
  }
  return argument;
}

int main(void) {
  pthread_t threads[50];
  for (int i = 0; i < keys / 2; ++i) CHECK(pthread_key_create(&key[i], again) == 0);
  free(malloc(1000));
  for (int i = keys / 2; i < keys; ++i) CHECK(pthread_key_create(&key[i], again) == 0);
  for (int i = 0; i < 50; ++i) CHECK(pthread_create(&threads[i], NULL, use, NULL) == 0);
  for (int i = 0; i < 50; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(calls == 50 * keys * 4);
  return 0;
}
