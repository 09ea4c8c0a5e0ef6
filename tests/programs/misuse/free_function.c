// free of the address of a function.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  void* p = hidden((void*)(uintptr_t)main);
  note_pointer("p", p);
  free(p);
  return 0;
}
