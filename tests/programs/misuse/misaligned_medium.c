// free of a page boundary inside a block of 100 KiB.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 4096 bytes into the 98304-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(98304);
  char* block = malloc(98304);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 4096);
  free(hidden(block + 4096));
  return 0;
}
