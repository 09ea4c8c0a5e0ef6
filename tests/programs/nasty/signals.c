// Signals.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "../cases.h"

static sigjmp_buf before_signal;
static volatile sig_atomic_t in_user_code;
static volatile int jumps;

static void jump(int number) {
  if (in_user_code && number > 0) siglongjmp(before_signal, 1);
}

// siglongjmp out of a handler that interrupted user code, never malloc: the heap stays whole.
//@ broken-by malloc_overlap
CASE(signal_jump) {
  char* p[100] = {NULL};
  struct sigaction action = {.sa_handler = jump};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval often = {{0, 500}, {0, 500}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  while (jumps < 500) {
    for (int i = 0; i < 100; ++i) {
      free(p[i]);
      p[i] = malloc((size_t)i * 50 + 1);
      fill(p[i], (size_t)i * 50 + 1, (unsigned)i);
    }
    if (sigsetjmp(before_signal, 1) == 0) {
      in_user_code = 1;
      for (;;) continue;
    }
    in_user_code = 0;
    ++jumps;
    for (int i = 0; i < 100; ++i) CHECK(is_filled(p[i], (size_t)i * 50 + 1, (unsigned)i));
  }
}

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

// Timer signals interrupt malloc and free thousands of times; system calls restart or are retried.
//@ broken-by fails_on_eintr
CASE(signal_timer) {
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
}

// The allocator installs no handler, leaves the signal mask alone and blocks nothing for good.
//@ broken-by blocks_signals installs_handler
CASE(signals_untouched) {
  for (int round = 0; round < 2; ++round) {
    sigset_t mask;
    CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    for (int number = 1; number < 65; ++number) {
      struct sigaction action;
      if (sigaction(number, NULL, &action) != 0 || number == SIGPIPE) continue;
      CHECK(action.sa_handler == SIG_DFL);
      CHECK(sigismember(&mask, number) == 0);
    }
    for (size_t size = 1; size < 20000000; size *= 2) free(malloc(size));
  }
}
