// operator delete of an address on the stack.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include <new>

#include "../check.h"

int main() {
  alignas(64) char local[64] = {};
  note_pointer("p", local);
  ::operator delete(hidden(local));
}
