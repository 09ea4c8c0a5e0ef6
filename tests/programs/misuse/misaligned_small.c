// free of an address eight bytes into a small block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 8 bytes into the 64-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(64);
  char* block = malloc(64);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 8);
  free(hidden(block + 8));
  return 0;
}
