// posix_memalign answers EINVAL or ENOMEM in its result and leaves the pointer alone.
//@ broken-by memalign_lenient
#include <errno.h>
#include "../check.h"

static void refused(size_t alignment, size_t size, int error) {
  void* p = (void*)0x77;
  CHECK(posix_memalign(&p, alignment, size) == error);
  CHECK(p == (void*)0x77);
}

int main(void) {
  volatile size_t absurd = (size_t)PTRDIFF_MAX + 1;
  refused(0, 8, EINVAL);
  refused(1, 8, EINVAL);
  refused(4, 8, EINVAL);
  refused(3, 8, EINVAL);
  refused(24, 8, EINVAL);
  refused(sizeof(void*) * 3, 8, EINVAL);
  refused(SIZE_MAX, 8, EINVAL);
  refused(absurd + 8, 8, EINVAL);
  refused(16, absurd, ENOMEM);
  refused(4096, SIZE_MAX, ENOMEM);
  refused(4096, SIZE_MAX - 100, ENOMEM);
  refused((size_t)1 << 62, 16, ENOMEM);
  refused((size_t)1 << 62, absurd, ENOMEM);
  return 0;
}
