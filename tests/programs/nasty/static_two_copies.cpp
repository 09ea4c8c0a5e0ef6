// A static program with libtarn-malloc.a and libtarn.a: two copies of the engine that do not meet.
//@ no-preload
//@ tarn-only
//@ broken-by text
#include "../check.h"

#include <malloc.h>

#include <tarn/heap.hpp>

int main() {
  tarn::heap lane({.name = "own"});
  void* const ours = lane.allocate(100);
  void* const theirs = malloc(100);
  CHECK(tarn::owner_of(ours) == &lane);
  CHECK(tarn::owner_of(theirs) == nullptr);
  CHECK(malloc_usable_size(theirs) != 104);
  auto* const small = new char[20];
  CHECK(tarn::owner_of(small) == nullptr);
  delete[] small;
  lane.deallocate(ours, 100);
  free(theirs);
  return 0;
}
