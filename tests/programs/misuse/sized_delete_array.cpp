// Sized array delete with a wrong size; checked with TARN_GUARD=1.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}, 5000): wrong size: the block has 1024 bytes
#include <new>

#include "../check.h"

int main() {
  void* p = ::operator new[](1000);
  note_pointer("p", p);
  ::operator delete[](hidden(p), 5000);
}
