// realloc of an address that is no block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: realloc({p}): foreign pointer: not a block of this allocator
#include "../check.h"

static _Alignas(64) char variable[256];

int main(void) {
  note_pointer("p", variable);
  return realloc(hidden(variable), 1000) != NULL;
}
