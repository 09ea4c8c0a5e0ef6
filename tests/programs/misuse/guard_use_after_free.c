// A write to a freed block, found when the block is to be used again.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 16 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  char* p = malloc(24);
  note_guarded(p);
  free(p);
  ((char*)hidden(p))[16] = 0;
  empty_quarantine();
  _exit(1);
  return 0;
}
