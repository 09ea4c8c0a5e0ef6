// free of a string literal.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include "../check.h"

int main(void) {
  const char* p = "a literal, not a block";
  note_pointer("p", p);
  free(hidden(p));
  return 0;
}
