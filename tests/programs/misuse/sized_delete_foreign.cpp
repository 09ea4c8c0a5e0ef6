// Sized delete of an address that is no block.
//@ tarn-only
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include <new>

#include "../check.h"

int main() {
  alignas(64) static char variable[64];
  note_pointer("p", variable);
  ::operator delete(hidden(variable), 64);
}
