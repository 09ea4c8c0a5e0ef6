// free of -1, as some functions return it for an error.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  free(malloc(10));
  note_pointer("p", (void*)-1);
  free(hidden((void*)-1));
  return 0;
}
