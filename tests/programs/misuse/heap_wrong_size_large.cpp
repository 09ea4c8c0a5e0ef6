// deallocate of a large block with the size of a small one.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: free({p}, 112): wrong size: the block has 1048576 bytes
#include <tarn/heap.hpp>

#include "../check.h"

int main() {
  tarn::heap lane;
  void* p = lane.allocate(1 << 20);
  note_pointer("p", p);
  lane.deallocate(hidden(p), 112);
}
