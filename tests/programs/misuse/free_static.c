// free of a static variable.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

static _Alignas(64) char variable[256];

int main(void) {
  free(malloc(10));
  note_pointer("p", variable);
  free(hidden(variable));
  return 0;
}
