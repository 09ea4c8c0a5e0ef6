// A write behind a sampled block faults at once.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: overrun: byte 32 of the block of 32 bytes at {p} is written at {program}+0xADDR by thread {thread}
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = make_at_end(32);
  note_guarded((char*)p);
  p[32] = 1;
  return 0;
}
