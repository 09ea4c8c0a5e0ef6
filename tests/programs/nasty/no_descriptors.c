// With RLIMIT_NOFILE at 0 nothing can be opened, and allocation works all the same.
//@ broken-by needs_fd
#include <pthread.h>
#include <sys/resource.h>
#include "../check.h"

static void* use(void* argument) {
  for (size_t size = 1; size < (size_t)64 << 20; size *= 2) {
    char* p = malloc(size);
    CHECK(p != NULL);
    p[size - 1] = 1;
    p = realloc(p, size * 2);
    CHECK(p != NULL);
    free(p);
  }
  return argument;
}

int main(void) {
  struct rlimit no_files = {0, 0};
  CHECK(setrlimit(RLIMIT_NOFILE, &no_files) == 0);
  use(NULL);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
  return 0;
}
