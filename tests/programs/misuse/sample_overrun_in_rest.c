// A write between the end of a sampled block and the end of its page is seen by free.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: free({p}): overrun: 2 bytes written past the end of the block of 29 bytes at {p}; the first is byte 29
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = make_at_end(29);
  note_guarded((char*)p);
  p[29] = 1;
  p[30] = 1;
  free_block((char*)p);
  return 0;
}
