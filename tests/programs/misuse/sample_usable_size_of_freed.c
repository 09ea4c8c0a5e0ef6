// malloc_usable_size of a sampled block that is free.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: malloc_usable_size({p}): use of the block of 24 bytes at {p} after it was freed
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = make_block(24);
  note_guarded((char*)p);
  free_block((char*)p);
  return malloc_usable_size((char*)p) == 24;
}
