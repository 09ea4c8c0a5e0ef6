// After mallopt(M_PERTURB) calloc still gives zeros.
//@ broken-by calloc_dirty
#include "../check.h"

int main(void) {
  mallopt(M_PERTURB, 0x55);
  for (size_t size = 1; size < 100000; size = size * 2 + 3) {
    void* dirty = malloc(size);
    memset(dirty, 0x33, size);
    free(dirty);
    void* p = calloc(1, size);
    CHECK(p != NULL && is_zero(p, size));
    free(p);
  }
  return 0;
}
