// A block of calloc freed twice.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 1024 bytes
#include "../check.h"

int main(void) {
  void* p = calloc(4, 256);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return 0;
}
