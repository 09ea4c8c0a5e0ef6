// Growing by a byte, by doubling and through large sizes keeps every byte, with neighbours between.
//@ broken-by realloc_drops realloc_moves_wrong
#include "../check.h"

int main(void) {
  char* p = NULL;
  for (size_t size = 1; size < 6000; ++size) {
    p = realloc(p, size);
    CHECK(p != NULL);
    p[size - 1] = (char)(size * 31);
    if (size % 64 == 0) free(malloc(size));
  }
  for (size_t i = 1; i < 6000; ++i) CHECK(p[i - 1] == (char)(i * 31));
  size_t filled = 5999;
  fill(p, filled, 3);
  for (size_t size = 8192; size <= (size_t)128 << 20; size = size * 5 / 3) {
    p = realloc(p, size);
    CHECK(p != NULL && is_filled(p, filled, 3));
    filled = size < 1 << 18 ? size : 1 << 18;
    fill(p, filled, 3);
    if (size > filled) p[size - 1] = 'e';
  }
  while (filled > 10) {
    p = realloc(p, filled = filled / 3);
    CHECK(p != NULL && is_filled(p, filled, 3));
  }
  free(p);
  return 0;
}
