// A pointer from before a realloc that looked as if it had not moved.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: use after free: byte 1 of the block of 24 bytes at {p} was written after it was freed at
//@ more {program}+0xADDR by thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include "../guarded.h"

int main(void) {
  char* p = malloc(24);
  note_guarded(p);
  char* q = realloc(p, 25);
  CHECK(q != NULL && q != p);
  ((char*)hidden(p))[1] = 0;
  return 0;
}
