// Aligned and plain blocks of the same sizes freed and asked for in turns never overlap.
//@ broken-by malloc_overlap memalign_weak memalign_short
#include "../check.h"

int main(void) {
  enum { count = 500 };
  static unsigned char* p[count];
  static size_t size[count];
  unsigned state = 11;
  for (int step = 0; step < 60000; ++step) {
    unsigned i = next_random(&state) % count;
    CHECK(p[i] == NULL || (p[i][0] == (unsigned char)i && p[i][size[i] - 1] == (unsigned char)i));
    free(p[i]);
    size_t alignment = (size_t)16 << (next_random(&state) % 9);
    size[i] = next_random(&state) % 5000 + 1;
    p[i] = step % 3 ? aligned_alloc(alignment, size[i]) : malloc(size[i]);
    CHECK(p[i] != NULL && is_aligned(p[i], step % 3 ? alignment : 8));
    memset(p[i], (int)i, size[i]);
  }
  for (int i = 0; i < count; ++i) free(p[i]);
  return 0;
}
