// free of an address far inside a block of 256 MiB.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): misaligned pointer: 134217728 bytes into the 268435456-byte block at {block}
#include "../check.h"

int main(void) {
  char* keep = malloc(256 << 20);
  char* block = malloc(256 << 20);
  CHECK(keep != NULL && block != NULL);
  note_pointer("block", block);
  note_pointer("p", block + 134217728);
  free(hidden(block + 134217728));
  return 0;
}
