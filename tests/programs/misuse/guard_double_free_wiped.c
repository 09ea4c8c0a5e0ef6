// The program wrote over the freed block before it freed it again.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 128 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  char* p = malloc(128);
  note_guarded(p);
  free(p);
  memset(hidden(p), 0x41, 128);
  free(hidden(p));
  return 0;
}
