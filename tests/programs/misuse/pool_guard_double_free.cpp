// A block of a guarded pool is freed twice: the report names the first free.
//@ tarn-only
//@ no-preload
//@ broken-by text
//@ signal ABRT
//@ stderr tarn: pool::deallocate({p}): double free of a block of 24 bytes; freed before at {program}+0xADDR by
//@ more thread {thread}; allocated at {program}+0xADDR by thread {thread}
#include <tarn/pool.hpp>

#include "../guarded.h"

int main() {
  tarn::pool<long[3]> triples({.name = "triples", .guard = true});
  void* const triple = triples.allocate();
  note_guarded(triple);
  triples.deallocate(triple);
  triples.deallocate(hidden(triple));
}
