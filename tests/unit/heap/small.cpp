// Tests small blocks of one owner: magazines, depots and slabs, against a map of the program's blocks.
#include <algorithm>

#include "heap_fixture.hpp"

namespace heap_tests {
namespace {

TEST_F(heap_test, every_class_gives_blocks_of_its_own) {
  heap& tested = make();
  std::mt19937 random(5);
  for (size_class index = 0; index < class_count; ++index) {
    live_blocks live;
    const std::size_t count = std::min<std::size_t>(3 * heaps::capacity_of(index) + 5, 8_MiB / size_of(index));
    for (std::size_t round = 0; round < count; ++round) {
      ASSERT_NO_FATAL_FAILURE(live.add(allocate(tested, index), size_of(index))) << index;
    }
    ASSERT_TRUE(tested.is_valid()) << index;
    while (live.size() != 0) {
      give(tested, live.remove(random()));
      ASSERT_TRUE(live.size() % 16 != 0 || tested.is_valid()) << index;
    }
    expect_in_use(tested, 0);
  }
}

TEST_F(heap_test, a_fresh_slab_is_handed_out_in_order) {
  heap& tested = make();
  const size_class index = class_of(200);
  const char* last = static_cast<char*>(allocate(tested, index));
  for (std::size_t round = 1; round < heaps::batch_of(index); ++round) {
    const char* const next = static_cast<char*>(allocate(tested, index));
    EXPECT_EQ(next, last + size_of(index));
    last = next;
  }
}

TEST_F(heap_test, what_was_freed_last_is_given_first) {
  heap& tested = make();
  void* const first = allocate(tested, 3);
  void* const second = allocate(tested, 3);
  give(tested, first);
  give(tested, second);
  EXPECT_EQ(allocate(tested, 3), second);
  EXPECT_EQ(allocate(tested, 3), first);
}

TEST_F(heap_test, a_steady_pair_takes_no_slow_path) {
  heap& tested = make();
  for (size_class index = 0; index < class_count; ++index) {
    for (int round = 0; round < 3; ++round) {  // the third allocation shows that the class is worth a magazine
      give(tested, allocate(tested, index));
    }
    const std::uint64_t calls = tested.slow_calls.get();
    for (int round = 0; round < 1'000; ++round) give(tested, allocate(tested, index));
    EXPECT_EQ(tested.slow_calls.get(), calls) << index;
  }
}

// Nobody can take blocks from the front magazines of a thread that sleeps: they are few where a heap only frees.
TEST_F(heap_test, a_class_that_only_frees_keeps_little_in_front) {
  for (size_class index = 0; index < class_count; ++index) {
    heap& tested = make();
    std::vector<void*> blocks;
    for (std::size_t bytes = 0; bytes < 2_MiB; bytes += size_of(index)) blocks.push_back(allocate(tested, index));
    for (void* const block : blocks) give(tested, block);
    const heaps::class_state& state = tested.classes[index];
    const std::size_t in_front =
        state.front == nullptr ? 0 : static_cast<std::size_t>(tested.top[index] - state.bottom()) * size_of(index);
    EXPECT_LE(in_front, 8_KiB) << index;
    if (heaps::first_capacity_of(index) < heaps::capacity_of(index)) {
      EXPECT_EQ(tested.depot_bytes.get(), 0u) << index;
    }
    EXPECT_TRUE(tested.is_valid());
  }
}

// A class that needs its returned blocks again gets a magazine of full size, so that few calls take the slow path.
TEST_F(heap_test, a_class_that_needs_its_blocks_again_gets_a_full_magazine) {
  heap& tested = make();
  const std::size_t rounds = 10;
  for (const size_class index : {class_of(64), class_of(1'000), class_of(20'000), class_of(200'000)}) {
    const std::size_t count = heaps::capacity_of(index) * 2 / 3;
    const auto wave = [&] {
      std::vector<void*> blocks;
      for (std::size_t number = 0; number < count; ++number) blocks.push_back(allocate(tested, index));
      for (void* const block : blocks) give(tested, block);
    };
    for (std::size_t round = 0; round < 4; ++round) wave();
    EXPECT_EQ(tested.classes[index].capacity, heaps::capacity_of(index));
    const std::uint64_t calls = tested.slow_calls.get();
    for (std::size_t round = 0; round < rounds; ++round) wave();
    EXPECT_LE(tested.slow_calls.get() - calls, 2 * rounds) << index;
    EXPECT_TRUE(tested.is_valid());
  }
}

// A class whose magazine becomes larger while there is no memory to fill it has an empty magazine.
TEST_F(heap_test, a_full_magazine_without_memory_is_empty) {
  heap& tested = make(pages::unit_bytes);
  const size_class index = class_of(1'000);
  std::vector<void*> blocks;
  while (void* const block = allocate(tested, index)) {
    blocks.push_back(block);
    tested.classes[index].returns = 0;
  }
  ASSERT_EQ(blocks.size(), pages::shapes.classes[index].capacity);
  give(tested, blocks.back());
  EXPECT_EQ(allocate(tested, index), blocks.back());
  tested.classes[index].returns = 2;
  EXPECT_EQ(allocate(tested, index), nullptr);
  EXPECT_TRUE(tested.is_valid());
  for (void* const block : blocks) give(tested, block);
  EXPECT_TRUE(tested.is_valid());
}

// malloc serves sizes that are seldom used with blocks of the next power of two, until they need many.
TEST_F(heap_test, seldom_used_sizes_share_blocks) {
  heap& tested = make();
  const auto take = [&](std::size_t bytes) {
    const size_class index = tested.class_to_fill(class_of(bytes));
    EXPECT_EQ(index, tested.served.classes[(bytes + 15) / 16]);
    EXPECT_TRUE(tested.serves(bytes, index));
    return allocate(tested, index);
  };
  give(tested, take(1'500));
  EXPECT_EQ(tested.served.classes[(1'500 + 15) / 16], class_of(1'500)) << "nobody asked to share";
  tested.share_blocks();
  for (std::size_t bytes = 16; bytes <= detail::tabled_bytes; bytes += 16) {
    const size_class index = tested.served.classes[bytes / 16];
    EXPECT_GE(size_of(index), bytes);
    EXPECT_LE(size_of(index), std::max<std::size_t>(64, 2 * bytes));
    EXPECT_EQ(size_of(index) % (bytes & -bytes), 0u) << "the alignment of " << bytes;
  }
  std::vector<void*> blocks;
  for (const std::size_t bytes : {520, 600, 700, 1'000}) {
    blocks.push_back(take(bytes));
    EXPECT_EQ(detail::key_of(blocks.back()) - tested.address(), class_of(1'024));
  }
  std::size_t number = 0;
  while (tested.served.classes[(600 + 15) / 16] != class_of(600)) {
    blocks.push_back(take(600));
    ASSERT_LT(++number, 2 * heaps::capacity_of(class_of(1'024)));
  }
  EXPECT_EQ(detail::key_of(take(600)) - tested.address(), class_of(600));
  EXPECT_EQ(detail::key_of(take(700)) - tested.address(), class_of(1'024)) << "others go on sharing";
  tested.share_blocks();  // for the next thread
  EXPECT_EQ(tested.served.classes[(600 + 15) / 16], class_of(1'024));
  tested.add_trait(heaps::heap_trait::counting);
  EXPECT_EQ(tested.served.classes[(600 + 15) / 16], class_of(600)) << "what counts calls counts them by size";
}

// At the border of a magazine, neither further frees nor further allocations reach the other end at once.
TEST_F(heap_test, a_border_is_not_crossed_back_and_forth) {
  heap& tested = make();
  const size_class index = class_of(64);
  std::vector<void*> blocks;
  for (std::size_t round = 0; round < 3 * magazine_count(); ++round) blocks.push_back(allocate(tested, index));
  for (std::size_t phase = 0; phase < magazine_count(); ++phase) {
    give(tested, blocks.back());
    blocks.pop_back();
    const std::uint64_t calls = tested.slow_calls.get();
    for (int round = 0; round < 100; ++round) {
      void* const first = allocate(tested, index);
      give(tested, first);
    }
    EXPECT_LE(tested.slow_calls.get(), calls + 2) << phase;
  }
}

// Random classes, frees in random order, bursts, and passing time; the heap is valid after each step.
TEST_F(heap_test, random_operations_never_overlap) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    heap& tested = make();
    if (seed % 4 == 3) tested.add_trait(heaps::heap_trait::counting);
    live_blocks live;
    for (int round = 0; round < 800; ++round) {
      const size_class index = static_cast<size_class>(random() % (random() % 3 == 0 ? class_count : 20));
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: ASSERT_NO_FATAL_FAILURE(live.add(allocate(tested, index), size_of(index))); break;
        case 3:
          for (std::size_t count = random() % (2_MiB / size_of(index) + 1) % 300; count != 0; --count) {
            ASSERT_NO_FATAL_FAILURE(live.add(allocate(tested, index), size_of(index)));
          }
          break;
        case 4:
          for (std::size_t count = random() % (live.size() + 1); count != 0; --count) {
            give(tested, live.remove(random()));
          }
          break;
        case 5:
          fake::advance_ms(random() % 400);
          tick(tested, index);
          break;
        default:
          if (live.size() != 0) give(tested, live.remove(random()));
          break;
      }
      ASSERT_TRUE(tested.is_valid()) << "seed " << seed << " round " << round;
      ASSERT_GE(tested.statistics().used_bytes, live.bytes());
      ASSERT_LE(tested.statistics().used_bytes, tested.statistics().slab_bytes);
      ASSERT_EQ(tested.space->used_bytes(), tested.statistics().footprint_bytes);
    }
    expect_in_use(tested, live.bytes());
    while (live.size() != 0) give(tested, live.remove(random()));
    expect_in_use(tested, 0);
    ASSERT_EQ(tested.space->used_bytes(), 0u);
  }
}

TEST_F(heap_test, a_closed_heap_counts_every_call) {
  heap& tested = make();
  tested.add_trait(heaps::heap_trait::counting);
  for (void** top : tested.top) EXPECT_EQ(top, heaps::shut_top());
  std::vector<void*> blocks;
  for (int round = 0; round < 500; ++round) blocks.push_back(allocate(tested, class_of(100)));
  for (int round = 0; round < 300; ++round) {
    give(tested, blocks.back());
    blocks.pop_back();
  }
  const heap_statistics now = tested.statistics();
  EXPECT_EQ(now.allocated_blocks, 500u);
  EXPECT_EQ(now.allocated_bytes, 500u * 112);
  EXPECT_EQ(now.freed_blocks, 300u);
  EXPECT_EQ(now.freed_bytes, 300u * 112);
  for (void** top : tested.top) EXPECT_EQ(top, heaps::shut_top());
  EXPECT_TRUE(tested.is_valid());
}

TEST_F(heap_test, statistics_say_what_there_is) {
  heap& tested = make();
  EXPECT_EQ(tested.statistics().slabs, 0u);
  EXPECT_EQ(tested.statistics().footprint_bytes, 0u);
  const size_class index = class_of(1'000);
  std::vector<void*> blocks;
  for (int round = 0; round < 200; ++round) blocks.push_back(allocate(tested, index));
  heap_statistics now = tested.statistics();
  const std::size_t in_a_slab = pages::shapes.classes[index].capacity;
  EXPECT_GE(now.slabs, base::divide_up(200, in_a_slab));
  EXPECT_EQ(now.slab_bytes, now.slabs * pages::shapes.classes[index].units * pages::unit_bytes);
  EXPECT_EQ(now.footprint_bytes, now.slab_bytes);
  EXPECT_EQ(now.peak_footprint_bytes, now.slab_bytes);
  EXPECT_GE(now.used_bytes, 200 * size_of(index));
  EXPECT_LT(now.used_bytes, 200 * size_of(index) + heaps::capacity_of(index) * size_of(index));
  EXPECT_GE(now.refills, 200 / heaps::capacity_of(index));
  EXPECT_EQ(now.flushes, 0u);
  for (void* block : blocks) give(tested, block);
  expect_in_use(tested, 0);
  now = tested.statistics();
  EXPECT_EQ(now.footprint_bytes, 0u);
  EXPECT_GE(now.peak_footprint_bytes, 200 * size_of(index));
  EXPECT_GT(now.flushes, 0u);
}

TEST_F(heap_test, is_valid_sees_what_is_broken) {
  heap& broken = make();
  const size_class index = class_of(64);
  for (int wave = 0; wave < 4; ++wave) {  // a class that needs its blocks again keeps them in depots
    std::vector<void*> blocks;
    for (std::size_t round = 0; round < 6 * heaps::capacity_of(index); ++round) {
      blocks.push_back(allocate(broken, index));
    }
    for (void* block : blocks) give(broken, block);
  }
  ASSERT_TRUE(broken.is_valid());
  heaps::class_state& state = broken.classes[index];
  ASSERT_GE(state.full_magazines.count, 2u);
  ASSERT_NE(state.front, nullptr);

  ++state.full_magazines.count;
  EXPECT_FALSE(broken.is_valid());
  --state.full_magazines.count;

  const std::uint32_t low = state.full_magazines.low;
  state.full_magazines.low = state.full_magazines.count + 1;
  EXPECT_FALSE(broken.is_valid());
  state.full_magazines.low = low;

  broken.depot_bytes.add(16);
  EXPECT_FALSE(broken.is_valid());
  broken.depot_bytes.subtract(16);

  void** const top = broken.top[index];
  broken.top[index] = state.bottom() - 1;
  EXPECT_FALSE(broken.is_valid());
  broken.top[index] = state.front->end() + 1;
  EXPECT_FALSE(broken.is_valid());
  broken.top[index] = top;

  ASSERT_EQ(state.capacity, heaps::capacity_of(index));
  --state.capacity;  // the batches behind it have full size
  EXPECT_FALSE(broken.is_valid());
  ++state.capacity;

  heaps::magazine* const front = state.front;
  state.front = nullptr;
  EXPECT_FALSE(broken.is_valid());
  state.front = front;

  void* const block = allocate(broken, 50);
  pages::slab* const foreign = broken.classes[50].available.front();
  ASSERT_NE(foreign, nullptr);
  broken.classes[50].available.remove(foreign);
  state.available.push_front(foreign);  // a slab of another class
  EXPECT_FALSE(broken.is_valid());
  state.available.remove(foreign);
  broken.classes[50].available.push_front(foreign);
  ASSERT_TRUE(broken.is_valid());

  const std::uint16_t free_blocks = foreign->free_blocks;
  foreign->free_blocks = 0;
  EXPECT_FALSE(broken.is_valid());
  foreign->free_blocks = free_blocks;

  pages::page_map::set(foreign->start, foreign->units, 0x1000 | 50, foreign);  // belongs to somebody else
  EXPECT_FALSE(broken.is_valid());
  pages::page_map::set(foreign->start, foreign->units, broken.address() | 50, foreign);

  give(broken, block);
  EXPECT_TRUE(broken.is_valid());
}

}  // namespace
}  // namespace heap_tests
