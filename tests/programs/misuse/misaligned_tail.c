// free of the address right behind the last block of a slab, whose rest is too small for another one.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  const uintptr_t unit = (uintptr_t)64 << 10;
  char* block = malloc(96);
  CHECK(block != NULL);
  char* tail = (char*)((uintptr_t)block / unit * unit + unit / 96 * 96);
  note_pointer("p", tail);
  free(hidden(tail));
  CHECK(malloc(96) != tail);
  return 0;
}
