// Tests how the stacks of frees tell that a block outlived the function that allocated it.
#include "profiler/findings/heap/escapes.hpp"

#include <gtest/gtest.h>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

// Frames without names: an equal address is an equal call.
class escape_test : public ::testing::Test {
 protected:
  // Adds blocks that are allocated with the first stack and freed with the second one.
  void add(const std::vector<std::uint64_t>& allocation, const std::vector<std::uint64_t>& release, int count = 1) {
    const auto site_of = [&](const std::vector<std::uint64_t>& frames) {
      recording_.sites.push_back({0, frames});
      return static_cast<std::uint32_t>(recording_.sites.size() - 1);
    };
    if (recording_.excerpts.empty()) recording_.excerpts.emplace_back();
    const std::uint32_t allocation_site = site_of(allocation), release_site = release.empty() ? 0 : site_of(release);
    for (; count > 0; --count) {
      recording_.excerpts.front().events.push_back({format::excerpt_kind::allocate, allocation_site, 16, 0x100});
      recording_.excerpts.front().events.push_back({format::excerpt_kind::release, release_site, 16, 0x100});
    }
    site_.merged_sites.push_back(allocation_site);
  }
  escape_verdict verdict() {
    symbols symbols(recording_);
    return escapes(recording_, deciding_frames(recording_, {}, symbols), symbols).verdict_of(site_);
  }

  format::recording recording_ = recording_of({{}});
  site site_;
};

TEST_F(escape_test, a_returned_block_is_freed_by_a_caller) {
  add({0x10, 0x20, 0x30}, {0x21, 0x30});
  EXPECT_EQ(verdict(), escape_verdict::escapes);
}

TEST_F(escape_test, a_block_may_be_freed_deeper_than_it_was_allocated) {
  add({0x10, 0x20, 0x30}, {0x50, 0x51, 0x52, 0x21, 0x30});
  EXPECT_EQ(verdict(), escape_verdict::escapes);
}

TEST_F(escape_test, a_frame_that_is_common_to_both_stacks_has_not_ended) {
  add({0x10, 0x20, 0x30}, {0x50, 0x10, 0x20, 0x30});
  EXPECT_EQ(verdict(), escape_verdict::confined);
}

TEST_F(escape_test, a_few_blocks_that_outlive_the_function_are_enough) {
  add({0x10, 0x20, 0x30}, {0x50, 0x10, 0x20, 0x30}, 90);
  add({0x10, 0x20, 0x30}, {0x21, 0x30});
  EXPECT_EQ(verdict(), escape_verdict::escapes);
}

TEST_F(escape_test, without_the_stack_of_a_free_nothing_is_known) {
  EXPECT_EQ(verdict(), escape_verdict::unknown);
  add({0x10, 0x20, 0x30}, {});
  EXPECT_EQ(verdict(), escape_verdict::unknown);
}

TEST_F(escape_test, a_stack_whose_outer_end_is_missing_tells_nothing) {
  add(std::vector<std::uint64_t>(64, 0x10), {0x21, 0x30});
  EXPECT_EQ(verdict(), escape_verdict::unknown);
}

}  // namespace
}  // namespace tarn::analyse
