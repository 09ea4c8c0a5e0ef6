// posix_memalign: every alignment from 8 to 2 MiB, zero returned, errno untouched on success.
//@ broken-by memalign_weak memalign_short clears_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  errno = 4711;
  for (size_t alignment = sizeof(void*); alignment <= (size_t)2 << 20; alignment *= 2) {
    void* before = NULL;
    for (size_t size = 0; size < (size_t)3 << 20; size = size * 2 + 7) {
      void* p = NULL;
      CHECK(posix_memalign(&p, alignment, size) == 0);
      CHECK(p != NULL && is_aligned(p, alignment) && malloc_usable_size(p) >= size);
      fill(p, size, 1);
      free(before);
      before = p;
    }
    free(before);
  }
  CHECK(errno == 4711);
  return 0;
}
