// free of a good pointer with a tag in its upper bits.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  char* block = malloc(100);
  note_pointer("p", (void*)((uintptr_t)block | (uintptr_t)1 << 60));
  free(hidden((void*)((uintptr_t)block | (uintptr_t)1 << 60)));
  return 0;
}
