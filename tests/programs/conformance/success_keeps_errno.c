// No call that succeeds sets errno to 0, and none leaves a stale ENOMEM behind.
//@ broken-by clears_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  void* p = NULL;
  errno = 4711;
  for (size_t size = 1; size < (size_t)8 << 20; size = size * 2 + 1) {
    free(malloc(size));
    free(calloc(1, size));
    p = realloc(p, size);
    CHECK(p != NULL);
    free(aligned_alloc(64, size));
    CHECK(errno == 4711);
  }
  free(p);
  return 0;
}
