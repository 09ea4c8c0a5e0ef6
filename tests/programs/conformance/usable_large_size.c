// The last usable byte of a large block may be written, and the size survives a realloc to it.
//@ broken-by usable_large
#include "../check.h"

int main(void) {
  for (size_t size = 100000; size < (size_t)200 << 20; size = size * 2 + 1) {
    char* p = malloc(size);
    size_t usable = malloc_usable_size(p);
    CHECK(p != NULL && usable >= size);
    p[0] = p[usable - 1] = 'x';
    p = realloc(p, usable);
    CHECK(p != NULL && p[0] == 'x' && p[usable - 1] == 'x');
    CHECK(malloc_usable_size(p) >= usable);
    free(p);
  }
  return 0;
}
