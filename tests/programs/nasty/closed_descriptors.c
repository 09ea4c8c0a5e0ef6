// Descriptors 0 to 2 are closed from the start: the allocator opens nothing in their place.
//@ closed 0 1 2
//@ broken-by opens_fd
#include <fcntl.h>
#include <pthread.h>
#include "../check.h"

static void* use(void* argument) {
  for (size_t size = 1; size < (size_t)64 << 20; size *= 2) free(memset(malloc(size), 1, size));
  return argument;
}

int main(void) {
  pthread_t thread;
  use(NULL);
  CHECK(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0);
  for (int i = 0; i < 10; ++i) CHECK(open("/dev/null", O_RDWR) == i);
  return 0;
}
