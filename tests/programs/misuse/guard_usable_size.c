// The usable size is the requested size, so nobody is invited to overrun.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
#include "../guarded.h"

int main(void) {
  for (size_t size = 0; size < 300000; size = size * 9 / 8 + 1) {
    char* p = malloc(size);
    CHECK(malloc_usable_size(p) == size);
    memset(p, 0, size);
    p = realloc(p, size + 3);
    CHECK(malloc_usable_size(p) == size + 3);
    free(p);
  }
  CHECK(malloc_usable_size(NULL) == 0);
  return 0;
}
