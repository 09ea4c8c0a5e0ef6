// The program writes more behind the block than the guard checks.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 8 or more bytes written past the end of the block of 24 bytes allocated at
//@ more {program}+0xADDR by thread {thread}; the first is byte 24
#include "../guarded.h"

int main(void) {
  char* p = calloc(3, 8);
  note_guarded(p);
  memset(hidden(p), 0, 24 + 8);
  free(p);
  return 0;
}
