// The program writes a byte into an empty block.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 0 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 0
#include "../guarded.h"

int main(void) {
  char* p = malloc(0);
  note_guarded(p);
  ((char*)hidden(p))[0] = 0;
  free(p);
  return 0;
}
