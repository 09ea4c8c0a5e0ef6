// Sizes that the machine cannot back but that fit the type fail cleanly, and small ones still work.
//@ limit as=8G
//@ broken-by no_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  for (int bits = 34; bits < 63; ++bits) {
    errno = 0;
    CHECK(malloc((size_t)1 << bits) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc((size_t)1 << (bits - 5), 32) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(aligned_alloc(64, (size_t)1 << bits) == NULL && errno == ENOMEM);
    char* p = malloc((size_t)bits * 100);
    CHECK(p != NULL);
    p[0] = 1;
    free(p);
  }
  return 0;
}
