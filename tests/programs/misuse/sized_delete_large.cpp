// Sized delete of a large block with a small size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}, 64): wrong size: the block has 1048576 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
#include <new>

#include "../guarded.h"

int main() {
  void* p = ::operator new(1 << 20);
  note_guarded(p);
  ::operator delete(hidden(p), 64);
}
