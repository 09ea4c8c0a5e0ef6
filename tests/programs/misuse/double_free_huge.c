// A block of 256 MiB freed twice: its address space went back to the system, so it is foreign by then.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  void* p = malloc(256 << 20);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return 0;
}
