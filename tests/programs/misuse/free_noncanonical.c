// free of an address that no x86-64 pointer can have.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  free(malloc(10));
  note_pointer("p", (void*)0xdead123456789ab0);
  free(hidden((void*)0xdead123456789ab0));
  return 0;
}
