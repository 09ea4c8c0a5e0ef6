// One byte behind an aligned block that is smaller than its alignment.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 100 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 100
#include "../guarded.h"

int main(void) {
  char* p = aligned_alloc(4096, 100);
  note_guarded(p);
  ((char*)hidden(p))[100] = 0;
  free(p);
  return 0;
}
