// The old address freed after realloc moved the block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

int main(void) {
  void* p = malloc(64);
  note_pointer("p", p);
  void* moved = realloc(p, 100000);
  CHECK(moved != NULL && moved != p);
  free(hidden(p));
  return 0;
}
