// A large block freed twice.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 1048576 bytes
#include "../check.h"

int main(void) {
  void* p = malloc(1 << 20);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return 0;
}
