// Some bytes before an aligned block.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): underrun: 20 or more bytes written before the start of the block of 24 bytes
//@ more allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  char* p = aligned_alloc(256, 24);
  note_guarded(p);
  ((char*)hidden(p))[-20] = 0;
  free(p);
  return 0;
}
