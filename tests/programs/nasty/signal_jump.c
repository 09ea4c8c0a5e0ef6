// siglongjmp out of a handler that interrupted user code, never malloc: the heap stays whole.
//@ broken-by malloc_overlap
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include "../check.h"

static sigjmp_buf back;
static volatile sig_atomic_t in_user_code;
static volatile int jumps;

static void jump(int number) {
  if (in_user_code && number > 0) siglongjmp(back, 1);
}

int main(void) {
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
    if (sigsetjmp(back, 1) == 0) {
      in_user_code = 1;
      for (;;) continue;
    }
    in_user_code = 0;
    ++jumps;
    for (int i = 0; i < 100; ++i) CHECK(is_filled(p[i], (size_t)i * 50 + 1, (unsigned)i));
  }
  return 0;
}
