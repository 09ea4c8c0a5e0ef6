// Sized delete with the size of a smaller class.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}, 10): wrong size: the block has 64 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
#include <new>

#include "../guarded.h"

int main() {
  void* p = ::operator new(64);
  note_guarded(p);
  ::operator delete(hidden(p), 10);
}
