// free of a small number that was taken for a pointer.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  free(malloc(10));
  note_pointer("p", (void*)0x1230);
  free(hidden((void*)0x1230));
  return 0;
}
