// Sized delete with the size of a smaller class; checked with TARN_GUARD=1.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}, 10): wrong size: the block has 64 bytes
#include <new>

#include "../check.h"

int main() {
  void* p = ::operator new(64);
  note_pointer("p", p);
  ::operator delete(hidden(p), 10);
}
