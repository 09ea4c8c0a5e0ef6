// Sized aligned delete with a wrong size; checked with TARN_GUARD=1.
//@ tarn-only
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: free({p}, 640): wrong size: the block has 256 bytes
#include <new>

#include "../check.h"

int main() {
  void* p = ::operator new(256, std::align_val_t{64});
  note_pointer("p", p);
  ::operator delete(hidden(p), 640, std::align_val_t{64});
}
