// realloc to no bytes is a free, and a foreign pointer is found there too.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

static _Alignas(64) char variable[256];

int main(void) {
  note_pointer("p", variable);
  return realloc(hidden(variable), 0) != NULL;
}
