// The drop-in in a static program names blocks that are free already, like the shared one.
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 32 bytes
//@ stderr tarn: free each block once; TARN_GUARD=1 shows where it was allocated and freed before
#include "../check.h"

int main(void) {
  char* p = malloc(32);
  note_pointer("p", p);
  free(p);
  free(hidden(p));
  return 0;
}
