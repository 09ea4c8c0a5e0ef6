// malloc_usable_size of an address that is no block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: malloc_usable_size({p}): foreign pointer: not a block of this allocator
#include "../check.h"

static _Alignas(64) char variable[256];

int main(void) {
  note_pointer("p", variable);
  return (int)malloc_usable_size(hidden(variable));
}
