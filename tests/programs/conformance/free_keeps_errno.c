// free leaves errno alone, for null, small, large and aligned blocks, and in long runs of frees.
//@ broken-by free_errno
#include <errno.h>
#include "../check.h"

int main(void) {
  enum { count = 3000 };
  static void* p[count];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      size_t size = i % 50 == 0 ? (size_t)1 << 20 : (size_t)i * 11 + 1;
      p[i] = i % 3 ? malloc(size) : aligned_alloc(256, size);
      CHECK(p[i] != NULL);
    }
    for (int i = 0; i < count; ++i) {
      errno = 4711;
      free(p[i]);
      CHECK(errno == 4711);
    }
  }
  errno = 4712;
  free(NULL);
  CHECK(errno == 4712);
  return 0;
}
