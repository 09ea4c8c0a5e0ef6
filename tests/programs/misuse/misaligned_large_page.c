// free of a later page of a large block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 8388608-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(8 << 20);
  char* block = malloc(8 << 20);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 4096);
  free(hidden(block + 4096));
  return 0;
}
