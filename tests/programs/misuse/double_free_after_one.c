// A block freed again after one other of its size.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include "../check.h"

int main(void) {
  void* p = malloc(64);
  void* second = malloc(64);
  note_pointer("p", p);
  free(p);
  free(second);
  free(hidden(p));
  return 0;
}
