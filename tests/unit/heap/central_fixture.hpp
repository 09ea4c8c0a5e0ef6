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
    while (!owned.empty()) {
      end(*owned.back());
    }
    EXPECT_EQ(heaps::central().used_bytes(), 0u) << "blocks were lost on their way";
    heap_test::TearDown();
  }

  heap& start() {
    heap* const own = registry::acquire();
    EXPECT_NE(own, nullptr);
    EXPECT_EQ(own->state.load(), ownership::owned);
    owned.push_back(own);
    return *own;
  }
  void end(heap& of) {
    owned.erase(std::find(owned.begin(), owned.end(), &of));
    of.retire();
    EXPECT_EQ(of.state.load(), ownership::idle);
    registry::give_idle(&of);
  }
  static std::vector<void*> many(heap& from, size_class index, std::size_t count) {
    std::vector<void*> all;
    for (std::size_t round = 0; round < count; ++round) {
      all.push_back(allocate(from, index));
    }
    return all;
  }

  std::vector<heap*> owned;
};

}  // namespace heap_tests
