// A program that moves the break itself keeps its memory; the allocator does not build on it.
//@ broken-by uses_break
#include "../check.h"

int main(void) {
  char* start = sbrk(0);
  for (int i = 0; i < 200; ++i) {
    char* mine = sbrk(10000);
    CHECK(mine != (void*)-1);
    fill(mine, 10000, (unsigned)i);
    char* p = malloc((size_t)i * 1000 + 1);
    CHECK(p != NULL);
    memset(p, 0xee, (size_t)i * 1000 + 1);
    CHECK(is_filled(mine, 10000, (unsigned)i));
    if (i % 2) free(p);
  }
  CHECK(start != (void*)-1);
  return 0;
}
