// Sized aligned delete with a wrong size.
//@ tarn-only
//@ env TARN_GUARD=1
//@ broken-by nothing TARN_GUARD=0
//@ signal ABRT
//@ stderr tarn: free({p}, 640): wrong size: the block has 256 bytes; allocated at
//@ more {program}+0xADDR by thread {thread}
#include <new>

#include "../guarded.h"

int main() {
  void* p = ::operator new(256, std::align_val_t{64});
  note_guarded(p);
  ::operator delete(hidden(p), 640, std::align_val_t{64});
}
