// A block is freed twice: the report names the first free.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR by thread
//@ more {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  void* p = malloc(24);
  note_guarded(p);
  free(p);
  free(hidden(p));
  return 0;
}
