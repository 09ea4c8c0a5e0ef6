// Every pthread key is taken before a second thread starts: the allocator must not need another.
//@ broken-by needs_key
#include <pthread.h>
#include "../check.h"

static void* use(void* argument) {
  for (size_t size = 1; size < 1000000; size *= 3) {
    char* p = malloc(size);
    CHECK(p != NULL);
    fill(p, size, 1);
    free(p);
  }
  return argument;
}

int main(void) {
  pthread_key_t key;
  int taken = 0;
  while (pthread_key_create(&key, NULL) == 0) ++taken;
  CHECK(taken > 900);
  use(NULL);
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  return 0;
}
