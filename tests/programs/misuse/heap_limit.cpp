// A heap's limit: bad_alloc, or null from try_allocate; freeing makes room; other heaps go on.
//@ tarn-only
//@ no-preload
//@ broken-by text
#include <new>
#include <tarn/heap.hpp>
#include <vector>

#include "../check.h"

int main() {
  tarn::heap lane({.name = "lane", .limit = 16 << 20});
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    try {
      while (blocks.size() < 40000) blocks.push_back(lane.allocate(1000));
    } catch (const std::bad_alloc&) {
    }
    CHECK(blocks.size() > 14000 && blocks.size() < 16800);
    CHECK(lane.try_allocate(1 << 20) == nullptr);
    CHECK(tarn::current().try_allocate(64) != nullptr);
    for (void* each : blocks) lane.deallocate(each, 1000);
    void* p = lane.allocate(8 << 20);
    lane.deallocate(p, 8 << 20);
  }
  lane.release();
  CHECK(lane.is_valid());
}
