// A strict heap's own thread may free by any way, also through another heap.
//@ tarn-only
//@ no-preload
//@ broken-by text
#include <tarn/heap.hpp>

#include "../check.h"

int main() {
  tarn::heap lane({.name = "parser", .strict = true}), other;
  tarn::current().deallocate(lane.allocate(64));
  other.deallocate(lane.allocate(64));
  other.deallocate(lane.allocate(1 << 20));
  lane.deallocate(lane.allocate(100), 100);
  CHECK(lane.is_valid());
}
