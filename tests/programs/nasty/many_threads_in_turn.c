// Ten thousand threads one after another, half of whose blocks others free: memory stays flat.
//@ broken-by thread_leak
#include <pthread.h>
#include "../check.h"

static void* work(void* argument) {
  void** kept = argument;
  for (int i = 0; i < 100; ++i) {
    char* p = malloc((size_t)i * 10 + 1);
    CHECK(p != NULL);
    memset(p, i, (size_t)i * 10 + 1);
    if (i % 2) {
      kept[i / 2] = p;
    } else {
      free(p);
    }
  }
  return NULL;
}

int main(void) {
  void* kept[2][50] = {{NULL}};
  size_t before = 0;
  for (int i = 0; i <= 10000; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, kept[i % 2]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (int j = 0; j < 50; ++j) free(kept[(i + 1) % 2][j]);
    if (i == 500) before = resident_bytes();
    if (i % 500 == 0 && i > 500) CHECK(resident_bytes() < before + ((size_t)4 << 20));
  }
  return 0;
}
