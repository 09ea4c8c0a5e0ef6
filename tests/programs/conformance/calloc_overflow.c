// A product that does not fit is refused with ENOMEM, whichever factor is the big one.
//@ broken-by calloc_overflow no_errno
#include <errno.h>
#include "../check.h"

static void refused(size_t count, size_t size) {
  errno = 0;
  CHECK(calloc(count, size) == NULL);
  CHECK(errno == ENOMEM);
}

int main(void) {
  volatile size_t half = SIZE_MAX / 2 + 1;  // volatile: the compiler must not see the overflow
  refused(half, 2);
  refused(2, half);
  refused(half, half);
  refused(SIZE_MAX / 8 + (half ? 1 : 0), 8 + (half ? 1 : 0));
  refused(SIZE_MAX, 16);
  refused(((size_t)1 << 32) + 1, (size_t)1 << 32);
  refused(SIZE_MAX, 1);
  void* p = calloc(0, half);
  CHECK(p != NULL);
  free(p);
  return 0;
}
