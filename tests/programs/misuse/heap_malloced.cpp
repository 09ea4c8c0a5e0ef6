// deallocate of a block of the system's malloc.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include <tarn/heap.hpp>

#include "../check.h"

int main() {
  void* p = malloc(64);
  note_pointer("p", p);
  tarn::current().deallocate(hidden(p), 64);
}
