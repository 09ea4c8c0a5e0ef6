// Blocks of many sizes live side by side and keep what is written to them.
//@ broken-by malloc_short malloc_overlap
#include "../check.h"

int main(void) {
  enum { count = 400 };
  static unsigned char* blocks[count];
  static size_t sizes[count];
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < count; ++i) {
      sizes[i] = (size_t)i * i + 1 + (size_t)round * 37;
      blocks[i] = malloc(sizes[i]);
      CHECK(blocks[i] != NULL);
      fill(blocks[i], sizes[i], (unsigned)i);
    }
    for (int i = 0; i < count; ++i) {
      CHECK(is_filled(blocks[i], sizes[i], (unsigned)i));
      free(blocks[i]);
    }
  }
  return 0;
}
