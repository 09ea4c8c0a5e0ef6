// A hundred thousand random operations of every kind, each block's contents checked when it goes.
//@ broken-by malloc_overlap realloc_drops calloc_dirty
#include "../check.h"

int main(void) {
  enum { count = 700 };
  static char* p[count];
  static size_t size[count];
  unsigned state = 5;
  for (int step = 0; step < 100000; ++step) {
    unsigned i = next_random(&state) % count, kind = next_random(&state) % 8;
    size_t wanted = (size_t)1 << (next_random(&state) % (step % 50 ? 12 : 19));
    wanted += next_random(&state) % wanted;
    CHECK(p[i] == NULL || is_filled(p[i], size[i] > 300 ? 300 : size[i], i));
    if (kind < 2 && p[i] != NULL) {
      p[i] = realloc(p[i], wanted);
      CHECK(p[i] != NULL);
      size_t kept = size[i] < wanted ? size[i] : wanted;
      CHECK(is_filled(p[i], kept > 300 ? 300 : kept, i));
    } else {
      free(p[i]);
      p[i] = kind == 2 ? aligned_alloc(64, wanted) : kind == 3 ? calloc(1, wanted) : malloc(wanted);
      CHECK(p[i] != NULL && (kind != 3 || is_zero(p[i], wanted)));
    }
    size[i] = wanted;
    fill(p[i], wanted > 300 ? 300 : wanted, i);
    p[i][wanted - 1] = wanted > 300 ? 1 : p[i][wanted - 1];
  }
  for (int i = 0; i < count; ++i) free(p[i]);
  return 0;
}
