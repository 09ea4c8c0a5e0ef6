// A static program is hardened, too.
//@ tarn-only
//@ no-preload
//@ env TARN_HARDEN=1
//@ env TARN_GUARD=0
//@ broken-by text TARN_HARDEN=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: bytes were written past the end of the block of 20 bytes
//@ stderr tarn: TARN_GUARD=1 shows where the block was allocated
#include "../check.h"

int main(void) {
  char* p = malloc(20);
  note_pointer("p", p);
  ((char*)hidden(p))[20] = 0;
  free(p);
  return 0;
}
