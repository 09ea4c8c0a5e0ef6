// reallocarray multiplies, and refuses a product that does not fit without touching the block.
//@ broken-by reallocarray_overflow no_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  volatile size_t half = SIZE_MAX / 2 + 1;
  int* p = reallocarray(NULL, 1000, sizeof *p);
  CHECK(p != NULL && malloc_usable_size(p) >= 4000);
  fill(p, 4000, 5);
  errno = 0;
  CHECK(reallocarray(p, half, 2) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(p, half / 2 + 1, 4) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(reallocarray(p, SIZE_MAX, 1) == NULL && errno == ENOMEM);
  CHECK(is_filled(p, 4000, 5));
  p = reallocarray(p, 3000, sizeof *p);
  CHECK(p != NULL && is_filled(p, 4000, 5));
  fill(p, 12000, 6);
  free(p);
  return 0;
}
