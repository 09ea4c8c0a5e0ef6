// quick_exit: its handlers allocate, the exit status arrives.
//@ exit 9
//@ broken-by quick_exit_closed
#include <pthread.h>
#include "../check.h"

static void* churn(void* argument) {
  for (;;) free(malloc(300));
  return argument;
}

static void at_end(void) {
  for (size_t i = 0; i < 3000; ++i) {
    char* p = malloc(i * 100 + 1);
    CHECK(p != NULL);
    p[i * 100] = 1;
    free(p);
  }
}

int main(void) {
  CHECK(at_quick_exit(at_end) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
  for (int i = 0; i < 3000; ++i) free(malloc(10));
  quick_exit(9);
}
