// Sized delete of a large block with a small size; checked with TARN_GUARD=1.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}, 64): wrong size: the block has 1048576 bytes
#include <new>

#include "../check.h"

int main() {
  void* p = ::operator new(1 << 20);
  note_pointer("p", p);
  ::operator delete(hidden(p), 64);
}
