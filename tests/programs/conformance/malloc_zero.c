// Every request of no bytes gives a pointer of its own that can be freed.
//@ broken-by zero_is_null zero_is_same
#include "../check.h"

int main(void) {
  enum { count = 300 };
  void* p[count];
  for (int i = 0; i < count; i += 5) {
    p[i] = malloc(0);
    p[i + 1] = calloc(0, 8);
    p[i + 2] = calloc(8, 0);
    p[i + 3] = realloc(NULL, 0);
    CHECK(posix_memalign(&p[i + 4], 64, 0) == 0);
  }
  for (int i = 0; i < count; ++i) {
    CHECK(p[i] != NULL);
    for (int j = 0; j < i; ++j) CHECK(p[i] != p[j]);
  }
  for (int i = 0; i < count; ++i) free(p[i]);
  return 0;
}
