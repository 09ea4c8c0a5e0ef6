// free of the first address above those of a process.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  free(malloc(10));
  note_pointer("p", (void*)((uintptr_t)1 << 47));
  free(hidden((void*)((uintptr_t)1 << 47)));
  return 0;
}
