// Sized delete of a block twice.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): double free of a block of 64 bytes
#include <new>

#include "../check.h"

int main() {
  void* p = ::operator new(64);
  note_pointer("p", p);
  ::operator delete(p, 64);
  ::operator delete(hidden(p), 64);
}
