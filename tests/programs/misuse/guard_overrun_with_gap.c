// A byte behind the block, with untouched ones between.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 5 bytes written past the end of the block of 26 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 30
#include "../guarded.h"

int main(void) {
  char* p = malloc(26);
  note_guarded(p);
  ((char*)hidden(p))[30] = 0;
  free(p);
  return 0;
}
