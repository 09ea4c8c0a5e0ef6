// Tests the blocks that a heap caches, and when it releases them.
#include "heap_fixture.hpp"

namespace heap_tests {
namespace {

class decay_test : public heap_test {
 protected:
  static constexpr size_class ticking_class = 2;

  /// Frees `count` blocks of a class at once.
  static void burst(heap& tested, size_class index, std::size_t count) {
    std::vector<void*> blocks;
    for (std::size_t round = 0; round < count; ++round) blocks.push_back(allocate(tested, index));
    for (void* block : blocks) give(tested, block);
  }
  /// Frees `count` blocks several times: a class that needs its blocks again keeps them in depots.
  static void waves(heap& tested, size_class index, std::size_t count) {
    for (int round = 0; round < 4; ++round) burst(tested, index, count);
  }
  static void pass(heap& tested, std::uint64_t ms) {
    static_cast<void>(
        allocate(tested, ticking_class));  // stays in use, so that ticking needs no slab, which would empty depots
    fake::advance_ms(ms);
    tick(tested, ticking_class);
  }
};

TEST_F(decay_test, what_waits_in_depots_is_little_once_others_need_memory) {
  for (const bool is_large : {false, true}) {
    heap& tested = make();
    for (const std::size_t bytes : {64, 1'000, 20'000}) {
      const size_class index = class_of(bytes);
      waves(tested, index, 16_MiB / bytes);
      const std::size_t waiting = tested.depot_bytes.get();
      ASSERT_GT(waiting, 0u);
      const std::size_t slab_bytes = tested.slab_bytes.get();
      EXPECT_TRUE(tested.is_valid());
      if (is_large) {
        give(tested, tested.allocate_large(1_MiB, 16, nullptr));
      } else {
        static_cast<void>(allocate(tested, 30));
      }
      EXPECT_LE(tested.depot_bytes.get(), 1_MiB + slab_bytes / 8) << bytes << ", before: " << waiting;
      EXPECT_TRUE(tested.is_valid());
      tested.release();
    }
  }
}

// A buffer that grows through the classes of long blocks leaves an idle slab in each, which otherwise stays while the
// clock stands.
TEST_F(decay_test, a_heap_that_grows_gives_up_what_is_idle) {
  heap& tested = make();
  const size_class long_class = class_of(20'000);
  waves(tested, class_of(1'000), 200);
  waves(tested, long_class, 1);
  ASSERT_GT(tested.depot_bytes.get(), 0u);
  ASSERT_NE(tested.classes[long_class].front, nullptr);
  for (std::size_t bytes = 0; bytes < 2_MiB; bytes += 64) static_cast<void>(allocate(tested, class_of(64)));
  EXPECT_EQ(tested.depot_bytes.get(), 0u);
  EXPECT_EQ(tested.classes[long_class].front, nullptr);
  EXPECT_TRUE(tested.classes[long_class].available.empty());
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(decay_test, an_unused_class_gives_everything_back) {
  heap& tested = make();
  const size_class index = class_of(1'000);
  waves(tested, index, 2'000);
  ASSERT_GT(tested.classes[index].full_magazines.count, 0u);
  ASSERT_NE(tested.classes[index].front, nullptr);
  for (int half_delays = 0; half_delays < 5; ++half_delays) {
    pass(tested, 250);
    EXPECT_TRUE(tested.is_valid());
  }
  EXPECT_EQ(tested.classes[index].full_magazines.count, 0u);
  EXPECT_EQ(tested.classes[index].front, nullptr);
  EXPECT_TRUE(tested.classes[index].available.empty());
  EXPECT_EQ(tested.statistics().slabs, 1u);  // the slab of the class that ticks
  burst(tested, index, 2'000);
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(decay_test, nothing_decays_while_the_clock_stands) {
  heap& tested = make();
  const size_class index = class_of(1'000);
  pass(tested, 250);
  waves(tested, index, 2'000);
  const std::size_t waiting = tested.depot_bytes.get();
  ASSERT_GT(waiting, 0u);
  for (int round = 0; round < 20; ++round) tick(tested, ticking_class);
  EXPECT_EQ(tested.depot_bytes.get(), waiting);
}

TEST_F(decay_test, what_is_in_use_stays) {
  heap& tested = make();
  const size_class index = class_of(1'000);
  burst(tested, index, 100);
  for (int round = 0; round < 10; ++round) {
    burst(tested, index, 100);
    const std::uint64_t slabs = tested.slabs.get();
    pass(tested, 250);
    EXPECT_TRUE(tested.is_valid());
    EXPECT_GE(tested.slabs.get() + 1, slabs);
    EXPECT_NE(tested.classes[index].front, nullptr);
  }
}

TEST_F(decay_test, only_what_was_not_needed_goes) {
  heap& tested = make();
  const size_class index = class_of(1'000);
  pass(tested, 250);
  waves(tested, index, 3'000);
  pass(tested, 250);
  const std::uint32_t magazines = tested.classes[index].full_magazines.count;
  ASSERT_GT(magazines, 6u);
  const std::size_t needed = 4 * heaps::batch_of(index);
  for (int round = 0; round < 4; ++round) {
    burst(tested, index, needed);
    pass(tested, 250);
  }
  EXPECT_LT(tested.classes[index].full_magazines.count, magazines);
  EXPECT_GE(tested.classes[index].full_magazines.count, 2u);
}

TEST_F(decay_test, a_heap_shrinks_again_once_its_waves_are_over) {
  heap& tested = make();
  const size_class index = class_of(4'000);
  const std::size_t count = 128_MiB / size_of(index);
  const auto kept_after_a_wave = [&] {
    burst(tested, index, count);
    EXPECT_TRUE(tested.is_valid());
    return tested.slab_bytes.get();
  };
  EXPECT_LT(kept_after_a_wave(), 64_MiB);
  kept_after_a_wave();
  EXPECT_GE(kept_after_a_wave(), 64_MiB) << "wave after wave";
  fake::advance_ms(60'000);
  EXPECT_LT(kept_after_a_wave(), 64_MiB) << "the regret has faded";
}

TEST_F(decay_test, a_class_in_use_keeps_its_last_slab) {
  heap& tested = make();
  const size_class index = class_of(8'000);
  void* const first = tested.allocate(index);
  tested.deallocate(first, index);
  tested.flush_all();
  EXPECT_EQ(tested.slabs.get(), 0u);  // flush_all keeps none
  // Blocks that come and go through the slabs, one magazine at a time, must not cost a slab each time.
  std::vector<void*> blocks;
  const std::size_t count = pages::shapes.classes[index].capacity;
  for (int round = 0; round < 50; ++round) {
    for (std::size_t block = 0; block < count; ++block) blocks.push_back(allocate(tested, index));
    for (void* block : blocks) give(tested, block);
    blocks.clear();
  }
  EXPECT_LE(tested.slabs.get(), 3u);
  EXPECT_GE(tested.slabs.get(), 1u);
}

TEST_F(decay_test, flush_all_leaves_no_magazine) {
  heap& tested = make();
  for (size_class index = 0; index < class_count; index += 7) burst(tested, index, 300);
  tested.flush_all();
  for (const heaps::class_state& state : tested.classes) {
    EXPECT_EQ(state.front, nullptr);
    EXPECT_EQ(state.full_magazines.first, nullptr);
    EXPECT_TRUE(state.available.empty());
  }
  EXPECT_EQ(tested.depot_bytes.get(), 0u);
  EXPECT_EQ(tested.space->used_bytes(), 0u);
  EXPECT_TRUE(tested.is_valid());
  burst(tested, 0, 300);
  EXPECT_TRUE(tested.is_valid());
}

}  // namespace
}  // namespace heap_tests
