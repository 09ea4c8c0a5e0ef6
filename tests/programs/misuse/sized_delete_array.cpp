// Sized array delete with a wrong size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}, 5000): wrong size: the block has 1000 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
#include <new>

#include "../guarded.h"

int main() {
  void* p = ::operator new[](1000);
  note_guarded(p);
  ::operator delete[](hidden(p), 5000);
}
