// calloc gives zeros although the blocks of that size were dirty when they were freed.
//@ broken-by calloc_dirty calloc_tail
#include "../check.h"

static void try_size(size_t size) {
  enum { count = 3 };
  void* p[count];
  for (int i = 0; i < count; ++i) {
    p[i] = malloc(size);
    CHECK(p[i] != NULL);
    memset(p[i], 0xa5, malloc_usable_size(p[i]));
  }
  for (int i = 0; i < count; ++i) free(p[i]);
  for (int i = 0; i < count; ++i) {
    p[i] = calloc(i == 1 ? size : 1, i == 1 ? 1 : size);
    CHECK(p[i] != NULL && is_zero(p[i], size));
  }
  for (int i = 0; i < count; ++i) free(p[i]);
}

int main(void) {
  for (size_t size = 1; size <= 4200; ++size) try_size(size);
  for (size_t size = 4201; size <= 70000; size += 61) try_size(size);
  for (size_t size = 70001; size <= (size_t)2 << 20; size += 20011) try_size(size);
  for (size_t power = 1 << 13; power <= (size_t)2 << 20; power *= 2) {
    for (int step = -1; step <= 1; ++step) try_size(power + (size_t)step);
  }
  return 0;
}
