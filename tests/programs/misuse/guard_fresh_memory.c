// Memory of malloc is filled with a pattern, that of calloc with zeros, all of it.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
#include "../guarded.h"

int main(void) {
  unsigned char pattern[5000];
  memset(pattern, 0xcd, sizeof pattern);
  for (size_t size = 0; size <= sizeof pattern; size += 7) {
    char* p = malloc(size);
    CHECK(memcmp(p, pattern, size) == 0);
    memset(p, 1, size);
    free(p);
    p = calloc(1, size);
    CHECK(is_zero(p, size));
    free(p);
    p = aligned_alloc(64, size);
    CHECK(memcmp(p, pattern, size) == 0 && is_aligned(p, 64));
    free(p);
  }
  return 0;
}
