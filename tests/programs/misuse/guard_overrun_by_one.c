// The end of a string one byte behind the block.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 1 bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
#include "../guarded.h"

int main(void) {
  char* p = malloc(24);
  note_guarded(p);
  strcpy(hidden(p), "123456789012345678901234");
  free(p);
  return 0;
}
