// free of an address on the stack.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  char local[256] = "";
  char* p = hidden(local);
  p += -(uintptr_t)p & 63;
  free(malloc(10));
  note_pointer("p", p);
  free(p);
  return 0;
}
