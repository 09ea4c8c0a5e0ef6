// aligned_alloc: alignments 8 to 2 MiB with many sizes, also sizes that are no multiple of them.
//@ broken-by memalign_weak memalign_short
#include "../check.h"

int main(void) {
  for (size_t alignment = 8; alignment <= (size_t)2 << 20; alignment *= 2) {
    void* kept[40];
    size_t sizes[40];
    int count = 0;
    for (size_t size = 1; size < (size_t)3 << 20; size = size * 3 / 2 + 5) {
      unsigned char* p = aligned_alloc(alignment, size);
      CHECK(p != NULL && is_aligned(p, alignment));
      CHECK(malloc_usable_size(p) >= size);
      memset(p, count, size);
      kept[count] = p;
      sizes[count++] = size;
    }
    for (int i = 0; i < count; ++i) {
      unsigned char* p = kept[i];
      CHECK(p[0] == i && memcmp(p, p + 1, sizes[i] - 1) == 0);
      free(p);
    }
  }
  return 0;
}
