// A program that limits its own address space to 100 MB once it runs still gets most of that, in its first thread and
// in another one.
//@ limit as=100000G
//@ broken-by reserves_much
#include <pthread.h>
#include <sys/resource.h>
#include "../check.h"

static void* take(void* wanted) {
  size_t had = 0;
  while (had < (size_t)wanted) {
    char* block = malloc(1000);
    CHECK(block != NULL);
    block[999] = 1;
    had += 1000;
  }
  return NULL;
}

int main(void) {
  static const size_t limits[] = {100, 200, 300};
  free(malloc(1));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  for (int i = 0; i < 3; ++i) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = limits[i] << 20;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    take((void*)((size_t)20 << 20));
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, take, (void*)((size_t)10 << 20)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  return 0;
}
