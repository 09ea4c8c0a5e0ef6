// A preloaded library whose clock runs backwards, a second for each question, as one of libfaketime may.
#include <time.h>

static long questions;

int clock_gettime(clockid_t clock, struct timespec* now) {
  (void)clock;
  now->tv_sec = 1000000 - __atomic_add_fetch(&questions, 1, __ATOMIC_RELAXED);
  now->tv_nsec = 0;
  return 0;
}
