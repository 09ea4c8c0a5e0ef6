// free of an address sixteen bytes into a large block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 16 bytes into the 1048576-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(1048576);
  char* block = malloc(1048576);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  free(hidden(block + 16));
  return 0;
}
