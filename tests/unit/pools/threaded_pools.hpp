// Serves the tests of pools that threads share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

#include "support/upstream.hpp"

namespace pool_tests {

/// Counts the living objects; its constructor throws for a negative value.
struct instance_counter {
  explicit instance_counter(int value_ = 0) : value(value_) {
    if (value < 0) throw std::invalid_argument("negative");
    ++alive;
  }
  ~instance_counter() { --alive; }
  int value;
  static inline std::atomic<int> alive{0};
};

/// Lets one request for memory fail while 300 objects are created, each request in turn: at most one object is missing.
/// `check` gets each pool after its objects are destroyed.
template <class Pool, class Check>
void fail_each_request(Check check) {
  bool has_failed = true;
  for (std::size_t request = 1; has_failed; ++request) {
    support::upstream memory;
    memory.fail_request(request);
    Pool pool({.upstream = &memory, .first_chunk_blocks = 4});
    std::vector<instance_counter*> objects;
    for (int number = 0; number < 300; ++number) {
      try {
        objects.push_back(pool.create(number));
      } catch (const std::bad_alloc&) {
      }
    }
    EXPECT_GE(objects.size(), 299u);
    for (instance_counter* const object : objects) pool.destroy(object);
    check(pool);
    has_failed = memory.refused() != 0;
  }
  EXPECT_EQ(instance_counter::alive, 0);
}

}  // namespace pool_tests
