// A sampled block that realloc moved, used by its old address.
//@ tarn-only
//@ env TARN_SAMPLE_GUARDS=1
//@ env TARN_GUARD=0
//@ broken-by nothing TARN_SAMPLE_GUARDS=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 15 of the block of 16 bytes at {p} is written at {program}+0xADDR by thread
//@ more {thread}
//@ stderr tarn:   freed by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
//@ stderr tarn:   allocated by thread {thread} at
//@ stderr tarn:     {program}+0xADDR
//@ stderr tarn:     <stack>
#include "../sampled.h"

int main(void) {
  volatile char* p = make_block(16);
  note_guarded((char*)p);
  char* moved = realloc((char*)p, 17);
  CHECK(moved != NULL && moved != p && malloc_usable_size(moved) == 17);
  ((char*)hidden((char*)p))[15] = 1;
  return 0;
}
