// Timer signals interrupt malloc and free thousands of times; system calls restart or are retried.
//@ broken-by fails_on_eintr
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include "../check.h"

static volatile int ticks;
static void tick(int number) { ticks += number > 0; }

static void* churn(void* argument) {
  unsigned state = (unsigned)(uintptr_t)argument;
  char* p[64] = {NULL};
  for (int step = 0; step < 150000 || ticks < 300; ++step) {
    unsigned i = next_random(&state) % 64;
    size_t size = next_random(&state) % (step % 200 ? 3000 : 700000) + 1;
    if (p[i] != NULL) CHECK(p[i][0] == (char)i);
    p[i] = step % 7 ? (free(p[i]), malloc(size)) : realloc(p[i], size);
    CHECK(p[i] != NULL);
    p[i][0] = p[i][size - 1] = (char)i;
  }
  for (int i = 0; i < 64; ++i) free(p[i]);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = tick};  // no SA_RESTART
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0);
  struct itimerval often = {{0, 500}, {0, 500}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0 && setitimer(ITIMER_PROF, &often, NULL) == 0);
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; ++i) {
    CHECK(pthread_create(&threads[i], NULL, churn, (void*)(i + 1)) == 0);
  }
  churn((void*)9);
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
