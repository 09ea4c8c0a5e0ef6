// Sized delete with a different size of the same size class.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}, 12): wrong size: the block has 10 bytes; allocated at {program}+0xADDR by thread
//@ more {thread}
#include "../guarded.h"

int main() {
  void* p = ::operator new(10);
  note_guarded(p);
  ::operator delete(hidden(p), 12);
}
