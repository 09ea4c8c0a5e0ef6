// Every size is aligned to 16; below 16 bytes an alignment of 8 is enough.
//@ broken-by malloc_odd
#include "../check.h"

static void check(const void* p, size_t size) {
  CHECK(p != NULL);
  CHECK(is_aligned(p, size < 16 ? 8 : 16));
}

int main(void) {
  void* before = NULL;
  for (size_t size = 1; size < 70000; size += size < 2100 ? 1 : 13) {
    void* a = malloc(size);
    check(a, size);
    void* b = calloc(1, size);
    check(b, size);
    a = realloc(a, size + 9);
    check(a, size + 9);
    free(before);
    free(b);
    before = a;
  }
  free(before);
  return 0;
}
