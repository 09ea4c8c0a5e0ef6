// Big callocs are zero after dirty frees, also where a smaller or larger block stood before.
//@ broken-by calloc_dirty calloc_tail
#include "../check.h"

int main(void) {
  const size_t sizes[] = {(size_t)2 << 20,       (size_t)33 << 20, (size_t)3 << 20, (size_t)16 << 20,
                          ((size_t)4 << 20) + 1, (size_t)64 << 20, (size_t)5 << 20};
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      char* dirty = malloc(sizes[i]);
      CHECK(dirty != NULL);
      memset(dirty, 0xa5, sizes[i]);
      dirty = realloc(dirty, sizes[i] / 2);
      CHECK(dirty != NULL);
      free(dirty);
      char* clean = calloc(sizes[i] / 8, 8);
      CHECK(clean != NULL && is_zero(clean, sizes[i] / 8 * 8));
      memset(clean, 0x5a, sizes[i] / 8 * 8);
      free(clean);
    }
  }
  return 0;
}
