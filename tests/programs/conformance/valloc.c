// valloc is aligned to a page; pvalloc also rounds the size up to whole pages.
//@ broken-by memalign_weak pvalloc_short no_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  volatile size_t absurd = (size_t)PTRDIFF_MAX + 1;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t size = 1; size < 200000; size = size * 3 + 1) {
    void* v = valloc(size);
    CHECK(v != NULL && is_aligned(v, page) && malloc_usable_size(v) >= size);
    void* w = pvalloc(size);
    CHECK(w != NULL && is_aligned(w, page));
    size_t whole = (size + page - 1) / page * page;
    CHECK(malloc_usable_size(w) >= whole);
    fill(w, whole, 4);
    free(v);
    free(w);
  }
  errno = 0;
  CHECK(valloc(absurd) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(pvalloc(SIZE_MAX - 100) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(pvalloc(absurd) == NULL && errno == ENOMEM);
  return 0;
}
