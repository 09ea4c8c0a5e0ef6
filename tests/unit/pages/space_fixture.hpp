// A space that must be empty after each test.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "memory/pages/metadata.hpp"
#include "memory/pages/page_map.hpp"
#include "memory/pages/space.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"

namespace space_tests {

using namespace tarn;
using namespace tarn::base::units;
using pages::page_map;
using pages::slab;
using pages::space;
using pages::space_options;
using pages::unit_bytes;
namespace fake = platform::fake;

/// The blocks' owner in the page map.
inline constexpr std::uintptr_t owner = 0x10000;

inline bool is_zero(const char* start, std::size_t bytes) {
  for (std::size_t index = 0; index < bytes; ++index) {
    if (start[index] != 0) return false;
  }
  return true;
}

class space_test : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Makes everything that is never unmapped before anything is compared: metadata, leaves of the page map.
    space warm;
    for (const std::size_t bytes : {64_KiB, 100_MiB}) {
      slab* const block = warm.allocate_large(bytes, unit_bytes, owner);
      ASSERT_NE(block, nullptr);
      warm.deallocate(block);
    }
    warm.release_all(0);
  }
  void SetUp() override {
    fake::reset();
    before = fake::mappings();
  }
  void TearDown() override {
    fake::reset();
    tested.release_all(0);
    EXPECT_EQ(tested.used_bytes(), 0u);
    EXPECT_TRUE(tested.is_valid());
    if (compares_mappings) {
      EXPECT_EQ(fake::mappings(), before) << "not everything went back to the system";
    }
  }

  /// Configures the space like that of a heap object: own segments, no purging.
  void configure_small(std::size_t limit = 0) {
    tested.configure({.segment_units = 64, .alignment = unit_bytes, .limit = limit, .purge = pages::purging::never});
  }

  std::vector<fake::mapping> before;
  bool compares_mappings = true;
  space tested;
};

}  // namespace space_tests
