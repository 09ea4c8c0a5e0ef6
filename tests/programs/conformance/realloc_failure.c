// A realloc that fails gives null and ENOMEM and leaves the block as it was.
//@ broken-by realloc_fail_frees no_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  volatile size_t absurd[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 4096, PTRDIFF_MAX};
  const size_t sizes[] = {1, 100, 5000, 300000, (size_t)5 << 20};
  for (int i = 0; i < 5; ++i) {
    char* p = malloc(sizes[i]);
    CHECK(p != NULL);
    fill(p, sizes[i], 9);
    for (int j = 0; j < 4; ++j) {
      errno = 0;
      CHECK(realloc(p, absurd[j]) == NULL);
      CHECK(errno == ENOMEM);
      char* neighbour = malloc(sizes[i]);
      CHECK(neighbour != p);
      memset(neighbour, 0, sizes[i]);
      CHECK(is_filled(p, sizes[i], 9));
      free(neighbour);
    }
    free(p);
  }
  return 0;
}
