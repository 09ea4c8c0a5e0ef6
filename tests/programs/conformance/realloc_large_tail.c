// A large block that grows in place or moves keeps its whole body; the new part can be written.
//@ broken-by realloc_drops realloc_moves_wrong
#include "../check.h"

int main(void) {
  size_t size = (size_t)1 << 20;
  char* p = malloc(size);
  char* wall[24];
  for (size_t i = 0; i < size; i += 512) p[i] = (char)(i >> 9);
  for (int step = 0; step < 24; ++step) {
    wall[step] = malloc(((size_t)1 << 20) + (size_t)step * 4096);  // keeps it from growing forever
    CHECK(wall[step] != NULL);
    size_t larger = size + ((size_t)step + 1) * 100000;
    p = realloc(p, larger);
    CHECK(p != NULL);
    for (size_t i = 0; i < size; i += 512) CHECK(p[i] == (char)(i >> 9));
    for (size_t i = (size + 511) / 512 * 512; i < larger; i += 512) p[i] = (char)(i >> 9);
    size = larger;
  }
  for (int step = 0; step < 24; ++step) free(wall[step]);
  free(p);
  return 0;
}
