// Nothing larger than PTRDIFF_MAX is ever handed out: null and ENOMEM from every function.
//@ broken-by no_errno ptrdiff_granted
#include <errno.h>
#include "../check.h"

static void refused(void* p) {
  CHECK(p == NULL);
  CHECK(errno == ENOMEM);
  errno = 0;
}

int main(void) {
  const size_t limit = PTRDIFF_MAX;
  volatile size_t sizes[] = {limit + 1,     limit + 2,    limit + 4096, SIZE_MAX - 4096,
                             SIZE_MAX - 16, SIZE_MAX - 1, SIZE_MAX,     limit};
  errno = 0;
  for (int i = 0; i < 8; ++i) {
    refused(malloc(sizes[i]));
    refused(calloc(1, sizes[i]));
    refused(calloc(sizes[i], 1));
    refused(realloc(NULL, sizes[i]));
    refused(reallocarray(NULL, 1, sizes[i]));
    refused(aligned_alloc(16, sizes[i]));
    refused(aligned_alloc(4096, sizes[i]));
    refused(memalign((size_t)1 << 21, sizes[i]));
    refused(valloc(sizes[i]));
    refused(pvalloc(sizes[i]));
  }
  return 0;
}
