// realloc always moves, and keeps the contents.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
#include "../guarded.h"

int main(void) {
  char* p = malloc(1);
  p[0] = 'a';
  for (size_t size = 2; size < 20000; ++size) {
    char* q = realloc(p, size);
    CHECK(q != NULL && q != p && malloc_usable_size(q) == size);
    q[size - 1] = (char)('a' + size % 26);
    p = q;
  }
  for (size_t size = 2; size < 20000; ++size) CHECK(p[size - 1] == (char)('a' + size % 26));
  p = realloc(p, 10);
  for (size_t size = 2; size < 10; ++size) CHECK(p[size - 1] == (char)('a' + size % 26));
  free(p);
  return 0;
}
