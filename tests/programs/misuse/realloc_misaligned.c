// realloc of a pointer into the middle of a block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: realloc({p}): misaligned pointer: 16 bytes into the 64-byte block at {block}
#include "../check.h"

int main(void) {
  char* block = malloc(64);
  note_pointer("block", block);
  note_pointer("p", block + 16);
  return realloc(hidden(block + 16), 1000) != NULL;
}
