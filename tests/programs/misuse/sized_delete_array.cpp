// Sized array delete with a wrong size.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}, 5000): wrong size: the block has 1024 bytes
#include <new>

#include "../check.h"

int main() {
  void* p = ::operator new[](1000);
  note_pointer("p", p);
  ::operator delete[](hidden(p), 5000);
}
