// The description of a block is wiped out.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): no block, or more than 8 bytes before it were written over
#include "../guarded.h"

int main(void) {
  char* p = malloc(24);
  note_guarded(p);
  memset((char*)hidden(p) - 40, 0, 40);
  free(p);
  return 0;
}
