// A block freed after its pool has released all.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ env TARN_GUARD=1
//@ signal ABRT
//@ stderr tarn: pool::deallocate({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR by
//@ more thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include <tarn/pool.hpp>

#include "../guarded.h"

int main() {
  tarn::pool<long[3]> triples;
  void* const triple = triples.allocate();
  note_guarded(triple);
  triples.release();
  triples.deallocate(hidden(triple));
}
