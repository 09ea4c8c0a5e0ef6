// memalign: powers of two as aligned_alloc; any other alignment is refused or rounded up.
//@ broken-by memalign_weak memalign_overflow no_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  volatile size_t absurd = (size_t)PTRDIFF_MAX + 1;
  for (size_t alignment = 1; alignment <= (size_t)2 << 20; alignment *= 2) {
    for (size_t size = 1; size < 100000; size = size * 7 + 1) {
      void* p = memalign(alignment, size);
      CHECK(p != NULL && is_aligned(p, alignment) && is_aligned(p, 8));
      fill(p, size, 2);
      free(p);
    }
  }
  errno = 0;
  void* odd = memalign(24, 100);
  CHECK(odd == NULL ? errno == EINVAL : is_aligned(odd, 32));
  free(odd);
  errno = 0;
  CHECK(memalign(64, absurd) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(memalign(64, SIZE_MAX - 32) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(memalign(absurd + 1, 8) == NULL && errno == EINVAL);
  return 0;
}
