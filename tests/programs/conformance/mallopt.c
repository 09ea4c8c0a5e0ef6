// mallopt takes every parameter of the manual, answers 1 or 0, and allocation goes on.
//@ broken-by mallopt_odd
#include "../check.h"

int main(void) {
  const int parameters[] = {M_MXFAST,   M_TRIM_THRESHOLD, M_TOP_PAD,    M_MMAP_THRESHOLD,
                            M_MMAP_MAX, M_CHECK_ACTION,   M_ARENA_TEST, M_ARENA_MAX};
  for (int i = 0; i < 8; ++i) {
    int answer = mallopt(parameters[i], i == 0 ? 64 : 128 * 1024);
    CHECK(answer == 1 || answer == 0);
  }
  char* p = malloc(1000);
  CHECK(p != NULL);
  fill(p, 1000, 1);
  free(p);
  return 0;
}
