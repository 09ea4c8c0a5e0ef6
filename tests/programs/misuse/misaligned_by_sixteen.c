// free of a well aligned address inside a small block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 16 bytes into the 48-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(48);
  char* block = malloc(48);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  free(hidden(block + 16));
  return 0;
}
