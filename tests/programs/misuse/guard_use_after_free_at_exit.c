// A write to a freed block, found when the program ends.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 65535 of the block of 70000 bytes at {p} was written after it was freed
//@ more at {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  char* p = malloc(70000);
  note_guarded(p);
  free(p);
  ((char*)hidden(p))[65535] = 0;
  return 0;
}
