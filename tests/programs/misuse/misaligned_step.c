// free of an address in the middle of a block of a slab of several units, where a block might start by its offset:
// named when it would be handed out.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 61440-byte block at {block}
#include "../check.h"

int main(void) {
  char* block = malloc(61440);
  CHECK(block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 4096);
  free(hidden(block + 4096));
  CHECK(malloc(61440) != block + 4096);
  return 0;
}
