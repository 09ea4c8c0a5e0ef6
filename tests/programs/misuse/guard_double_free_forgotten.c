// A large block freed again after so many others that nothing is known of it.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block that was freed long ago
#include "../guarded.h"

int main(void) {
  empty_quarantine();  // so that the later blocks need no new memory, which could lie where this block was
  void* p = malloc(64 << 20);
  note_guarded(p);
  free(p);
  empty_quarantine();
  empty_quarantine();
  free(hidden(p));
  return 0;
}
