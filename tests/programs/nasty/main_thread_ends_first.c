// main leaves by pthread_exit; the other threads go on, free its blocks and end the process.
//@ exit 5
//@ broken-by orphan_lost
#include <pthread.h>
#include "../check.h"

enum { count = 2000 };
static char* p[count];
static pthread_t first;

static void* go_on(void* argument) {
  CHECK(pthread_join(first, NULL) == 0);
  for (int i = 0; i < count; ++i) {
    CHECK(is_filled(p[i], 100, (unsigned)i));
    free(p[i]);
  }
  for (int i = 0; i < count; ++i) free(malloc((size_t)i * 10));
  exit(5);
  return argument;
}

int main(void) {
  first = pthread_self();
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(100);
    fill(p[i], 100, (unsigned)i);
  }
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
  pthread_exit(NULL);
}
