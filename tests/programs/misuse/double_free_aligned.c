// A block of aligned_alloc freed twice.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 4096 bytes
#include "../check.h"

int main(void) {
  void* p = aligned_alloc(4096, 4096);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return 0;
}
