// free of an odd address.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 1 bytes into the 64-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(64);
  char* block = malloc(64);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 1);
  free(hidden(block + 1));
  return 0;
}
