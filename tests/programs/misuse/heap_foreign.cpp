// deallocate of an address that is no block of any heap.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: free({p}): foreign pointer: not a block of this allocator
#include <tarn/heap.hpp>

#include "../check.h"

int main() {
  alignas(64) char local[64] = "";
  tarn::heap lane;
  note_pointer("p", local);
  lane.deallocate(hidden(local));
}
