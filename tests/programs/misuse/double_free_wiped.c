// The program wrote over the freed block before it freed it again; checked with TARN_GUARD=1.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 128 bytes
#include "../check.h"

int main(void) {
  char* p = malloc(128);
  note_pointer("p", p);
  free(p);
  memset(hidden(p), 0x41, 128);
  free(hidden(p));
  return 0;
}
