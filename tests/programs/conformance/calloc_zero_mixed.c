// calloc stays zero when memory wanders between sizes: fill, free, ask again for other sizes.
//@ broken-by calloc_dirty calloc_tail
#include "../check.h"

int main(void) {
  enum { count = 256 };
  static char* p[count];
  unsigned state = 7;
  for (int step = 0; step < 40000; ++step) {
    unsigned slot = next_random(&state) % count;
    free(p[slot]);
    size_t size = (size_t)1 << (next_random(&state) % 17);
    size += next_random(&state) % size;
    p[slot] = calloc(size, 1);
    CHECK(p[slot] != NULL && is_zero(p[slot], size));
    memset(p[slot], 0xff, malloc_usable_size(p[slot]));
  }
  for (int i = 0; i < count; ++i) free(p[i]);
  return 0;
}
