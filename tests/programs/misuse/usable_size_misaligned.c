// malloc_usable_size of a pointer into the middle of a block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: malloc_usable_size({p}): misaligned pointer: 32 bytes into the 320-byte block at {block}
#include "../check.h"

int main(void) {
  char* block = malloc(320);
  note_pointer("block", block);
  note_pointer("p", block + 32);
  return (int)malloc_usable_size(hidden(block + 32));
}
