// A block freed again when it is not in quarantine any more.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 5000 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  void* p = malloc(5000);
  note_guarded(p);
  free(p);
  empty_quarantine();
  free(hidden(p));
  return 0;
}
