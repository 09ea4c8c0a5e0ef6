// A write to a sampled block of calloc that was freed, when others have been freed since.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 0 of the block of 24 bytes at {p} is written at {program}+0xADDR by thread
//@ more {thread}
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = calloc(2, 12);
  note_guarded((char*)p);
  CHECK(p[0] == 0 && p[23] == 0);
  free_block((char*)p);
  for (int i = 0; i < 30; ++i) free(malloc(24));
  p[0] = 1;
  return 0;
}
