// free of the last byte of a block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 319 bytes into the 320-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(320);
  char* block = malloc(320);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 319);
  free(hidden(block + 319));
  return 0;
}
