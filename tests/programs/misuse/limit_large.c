// One request above the limit fails, however it is made; one below it succeeds; realloc keeps its block.
//@ tarn-only
//@ env TARN_LIMIT=64MiB
#include <errno.h>
#include "../check.h"

int main(void) {
  const size_t above = (size_t)65 << 20;
  for (int round = 0; round < 3; ++round) {
    errno = 0;
    CHECK(malloc(above) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(above, 1) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(aligned_alloc(4096, above) == NULL && errno == ENOMEM);
    char* p = malloc((size_t)20 << 20);
    CHECK(p != NULL);
    fill(p, 10000, 1);
    errno = 0;
    CHECK(realloc(p, above) == NULL && errno == ENOMEM);
    CHECK(is_filled(p, 10000, 1));
    p = realloc(p, (size_t)30 << 20);
    CHECK(p != NULL && is_filled(p, 10000, 1));
    free(p);
  }
  return 0;
}
