// A block of 256 MiB freed twice: its address space has gone back to the system.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 268435456 bytes
#include "../check.h"

int main(void) {
  void* p = malloc(256 << 20);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return 0;
}
