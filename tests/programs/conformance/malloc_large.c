// Blocks from 1 MiB to 300 MiB: first and last byte usable, contents apart, memory given back.
//@ broken-by malloc_overlap free_leaks
//@ limit as=2G
#include "../check.h"

int main(void) {
  for (int round = 0; round < 20; ++round) {
    unsigned char* previous = NULL;
    for (size_t size = (size_t)1 << 20; size <= (size_t)300 << 20; size = size * 2 + 4097) {
      unsigned char* p = malloc(size);
      CHECK(p != NULL && is_aligned(p, 16));
      p[0] = p[size - 1] = (unsigned char)(size >> 12);
      CHECK(previous == NULL || previous[0] == (unsigned char)(((size - 4097) / 2) >> 12));
      free(previous);
      previous = p;
    }
    free(previous);
  }
  return 0;
}
