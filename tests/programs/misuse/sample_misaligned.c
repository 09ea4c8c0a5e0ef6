// A pointer into a sampled block, freed.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: free({inside}): misaligned pointer: 8 bytes into the block of 24 bytes at {p}
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  note_pointer("inside", (char*)p + 8);
  free_block((char*)p + 8);
  return 0;
}
