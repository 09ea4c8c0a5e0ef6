// A block freed again after blocks of other sizes came and went.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

int main(void) {
  void* p = malloc(64);
  note_pointer("p", p);
  free(p);
  for (size_t size = 100; size < 5000; ++size) free(malloc(size));
  free(hidden(p));
  return 0;
}
