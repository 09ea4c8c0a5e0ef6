// Heaps of threads: they use the central space, which must be empty at the end.
#pragma once

#include <algorithm>

#include "heap_fixture.hpp"

namespace heap_tests {

using heaps::ownership;
using heaps::registry;

/// Makes heaps over the space that threads share.
class central_heap_test : public heap_test {
 protected:
  void SetUp() override {
    heap_test::SetUp();
    ASSERT_EQ(heaps::central().used_bytes(), 0u);
  }
  void TearDown() override {
    while (!owned_heaps.empty()) end(*owned_heaps.back());
    EXPECT_EQ(heaps::central().used_bytes(), 0u) << "blocks were lost on their way";
    heap_test::TearDown();
  }

  heap& start() {
    heap* const started = registry::acquire();
    EXPECT_NE(started, nullptr);
    EXPECT_EQ(started->state.load(), ownership::occupied);
    owned_heaps.push_back(started);
    return *started;
  }
  void end(heap& leaving) {
    owned_heaps.erase(std::find(owned_heaps.begin(), owned_heaps.end(), &leaving));
    leaving.retire();
    EXPECT_EQ(leaving.state.load(), ownership::idle);
    registry::give_idle(&leaving);
  }
  static std::vector<void*> allocate_many(heap& owner, size_class index, std::size_t count) {
    std::vector<void*> blocks;
    for (std::size_t round = 0; round < count; ++round) blocks.push_back(allocate(owner, index));
    return blocks;
  }

  std::vector<heap*> owned_heaps;
};

}  // namespace heap_tests
