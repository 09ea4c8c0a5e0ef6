// A block freed to a pool that is not its own.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: pool "short" at {q}: foreign pointer {p}: not a block of this pool
#include <tarn/pool.hpp>

#include "../guarded.h"

int main() {
  tarn::pool<long[3]> one({.name = "long"}), other({.name = "short"});
  void* const block = one.allocate();
  static_cast<void>(other.allocate());
  note_guarded(block);
  note_pointer("q", &other);
  other.deallocate(hidden(block));
}
