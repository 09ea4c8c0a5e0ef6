// A write before a sampled block at the end of its page is seen by realloc.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: realloc({p}): underrun: 5 or more bytes written before the block of 24 bytes at {p}
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = make_at_end(24);
  note_guarded((char*)p);
  p[-5] = 1;
  return realloc((char*)p, 100) == NULL;
}
