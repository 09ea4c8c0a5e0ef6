// Leaves the engine at rest before and after each test: nothing in use, no remote frees pending.
#pragma once

#include <gtest/gtest.h>

#include "memory/api/blocks.hpp"
#include "memory/heap/lookup.hpp"
#include "memory/heap/registry.hpp"
#include "memory/pages/metadata.hpp"
#include "memory/thread/threads.hpp"
#include "platform/fake/platform.hpp"
#include "platform/platform.hpp"
#include "support/worker.hpp"
#include "tarn/tarn.hpp"

namespace front_tests {

using namespace tarn::base::units;
namespace fake = tarn::platform::fake;
namespace platform = tarn::platform;
using support::worker;

/// Returns everything that the calling thread and the process heap have cached.
inline void settle() {
  tarn::heaps::heap& process = *tarn::threads::process_heap();
  for (int round = 0; round < 2; ++round) {  // each round collects the other side's blocks
    tarn::api::trim();
    const platform::locked hold(process.mutex);
    process.send_all();
    process.collect();
    process.flush_all();
  }
}

inline std::size_t in_use() { return tarn::heaps::central().used_bytes(); }

class front_test : public testing::Test {
 protected:
  void SetUp() override {
    fake::reset();
    tarn::detail::deallocate(tarn::detail::local_heap, tarn::detail::allocate(tarn::detail::local_heap, 1, 16));
    settle();
    ASSERT_EQ(in_use(), 0u);
  }
  void TearDown() override {
    fake::reset();
    settle();
    EXPECT_EQ(in_use(), 0u) << "blocks were lost";
    EXPECT_TRUE(tarn::heaps::central().is_valid());
  }
};

inline bool is_filled(const void* block, std::size_t bytes, int value) {
  const auto* const first = static_cast<const unsigned char*>(block);
  for (std::size_t index = 0; index < bytes; ++index) {
    if (first[index] != static_cast<unsigned char>(value)) return false;
  }
  return true;
}

}  // namespace front_tests
