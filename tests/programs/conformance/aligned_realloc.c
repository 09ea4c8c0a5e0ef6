// A block with an alignment can be reallocated and keeps its contents.
//@ broken-by realloc_drops realloc_moves_wrong memalign_short
#include "../check.h"

int main(void) {
  for (size_t alignment = 32; alignment <= (size_t)2 << 20; alignment *= 4) {
    for (size_t size = 10; size <= 200000; size *= 4) {
      char* p = aligned_alloc(alignment, size);
      CHECK(p != NULL);
      fill(p, size, 8);
      p = realloc(p, size * 3);
      CHECK(p != NULL && is_filled(p, size, 8));
      fill(p, size * 3, 9);
      p = realloc(p, size / 2);
      CHECK(p != NULL && is_filled(p, size / 2, 9));
      free(p);
    }
  }
  return 0;
}
