// deallocate with a size of another class than the block's.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: free({p}, 112): wrong size: the block has 64 bytes
#include <tarn/heap.hpp>

#include "../check.h"

int main() {
  tarn::heap lane;
  void* p = lane.allocate(64);
  note_pointer("p", p);
  lane.deallocate(hidden(p), 112);
}
