// Tests blocks that are freed for an owner that sleeps.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "central_fixture.hpp"
#include "platform/threads.hpp"
#include "support/call_filter.h"

namespace heap_tests {
namespace {

class sleeping_test : public central_heap_test {
 protected:
  /// Frees a block while time passes: nobody sleeps for less.
  static void give_slowly(heap& sender, void* block) {
    fake::advance_ms(1);
    give(sender, block);
  }
};

constexpr std::size_t reclaimable_bytes = 4 * heaps::first_reclaim_bytes + 16_MiB / (TARN_SMALL ? 16 : 1);

TEST_F(sleeping_test, slabs_all_of_whose_blocks_wait_go_back_to_the_space) {
  heap& sleeping = start();
  heap& sender = start();
  for (const size_class index : {class_of(48), class_of(640), class_of(20000)}) {
    const auto blocks = allocate_many(sleeping, index, reclaimable_bytes / size_of(index));
    const std::uint64_t arrived = sleeping.statistics().remote_frees;
    const std::size_t before = heaps::central().used_bytes();
    for (void* block : blocks) give_slowly(sender, block);
    sender.send_all();
    const std::size_t few_slabs = 4 * pages::shapes.classes[index].units * pages::unit_bytes;
    EXPECT_LE(heaps::central().used_bytes(), before - reclaimable_bytes + 3 * heaps::first_reclaim_bytes + few_slabs)
        << index;
    // The owner's statistics show it at once, and still after it has drained its inbox.
    for (const bool is_awake : {false, true}) {
      if (is_awake) {
        sleeping.collect();
        EXPECT_EQ(sleeping.statistics().remote_frees, arrived + blocks.size());
      }
      EXPECT_LE(sleeping.statistics().slab_bytes, heaps::central().used_bytes());
      EXPECT_LE(sleeping.statistics().used_bytes, heaps::central().used_bytes());
    }
    EXPECT_TRUE(sleeping.is_valid());
    sleeping.reclaim_bytes = heaps::first_reclaim_bytes;
    sleeping.flush_all();
    EXPECT_EQ(sleeping.statistics().slabs, 0u);
    EXPECT_EQ(sleeping.statistics().used_bytes, 0u);
    EXPECT_EQ(heaps::central().used_bytes(), 0u);
  }
}

// A sender that has filled a word and has not announced it yet touches the slab once more.
TEST_F(sleeping_test, a_slab_that_a_sender_still_uses_stays) {
  heap& sleeping = start();
  const size_class index = class_of(48);
  const std::size_t capacity = pages::shapes.classes[index].capacity;
  const std::size_t last = pages::words_of(index) - 1;
  ASSERT_GT(last, 0u);
  auto blocks = allocate_many(sleeping, index, 2 * capacity);
  pages::slab& home = *pages::page_map::slab_of(blocks.front());
  const auto others = std::partition(blocks.begin(), blocks.end(),
                                     [&](void* block) { return pages::page_map::slab_of(block) == &home; });
  ASSERT_EQ(static_cast<std::size_t>(others - blocks.begin()), capacity);
  for (std::size_t word = 0; word < last; ++word) {
    if (home.free_remotely(word, ~std::uint64_t{0}).must_post) sleeping.remote_inbox.post(home);
  }
  const std::uint64_t in_last = ~std::uint64_t{0} >> (64 * (last + 1) - capacity);
  home.remote_words[last].store(in_last);
  const std::size_t before = heaps::central().used_bytes();
  sleeping.reclaim_for_owner();
  EXPECT_EQ(heaps::central().used_bytes(), before);
  home.remote_words[last].store(0);
  EXPECT_FALSE(home.free_remotely(last, in_last).must_post);
  sleeping.reclaim_for_owner();
  EXPECT_LT(heaps::central().used_bytes(), before);
  for (auto block = others; block != blocks.end(); ++block) give(sleeping, *block);
}

// A thread may only wait for a processor.
TEST_F(sleeping_test, an_owner_that_was_away_for_a_moment_keeps_its_slabs) {
  heap& away = start();
  heap& sender = start();
  const size_class index = class_of(640);
  const auto blocks = allocate_many(away, index, reclaimable_bytes / 640);
  const std::size_t before = heaps::central().used_bytes();
  for (void* block : blocks) give(sender, block);
  sender.send_all();
  EXPECT_EQ(heaps::central().used_bytes(), before);
  EXPECT_EQ(away.reclaimed.slabs.load(), 0u);
}

TEST_F(sleeping_test, a_slab_with_a_block_in_use_stays) {
  heap& sleeping = start();
  heap& sender = start();
  const size_class index = class_of(1024);
  const auto blocks = allocate_many(sleeping, index, reclaimable_bytes / 1024);
  live_blocks live;
  for (std::size_t position = 0; position < blocks.size(); position += 40) {  // at least one in each slab
    live.add(blocks[position], 1024);
  }
  const std::size_t before = heaps::central().used_bytes();
  for (std::size_t position = 0; position < blocks.size(); ++position) {
    if (position % 40 != 0) give_slowly(sender, blocks[position]);
  }
  sender.send_all();
  EXPECT_EQ(heaps::central().used_bytes(), before);
  EXPECT_FALSE(sleeping.remote_inbox.empty());
  while (live.size() != 0) {
    give_slowly(sender, live.remove(0));  // checks the contents
  }
}

TEST_F(sleeping_test, an_owner_that_comes_by_keeps_its_slabs) {
  heap& busy = start();
  heap& sender = start();
  const size_class index = class_of(512);
  constexpr std::size_t blocks_in_ms = heaps::first_reclaim_bytes / 512 / 2;
  const auto blocks = allocate_many(busy, index, 40 * blocks_in_ms);
  fake::advance_ms(1'000);
  tick(busy);  // decays
  const std::size_t before = heaps::central().used_bytes();
  for (std::size_t position = 0; position < blocks.size(); ++position) {
    give(sender, blocks[position]);
    if (position % blocks_in_ms == 0) {
      fake::advance_ms(1);  // in all more than the time after which it would count as asleep, but less than a decay
      tick(busy);           // slow calls that do not check the inbox
    }
  }
  sender.send_all();
  EXPECT_EQ(heaps::central().used_bytes(), before);
  EXPECT_EQ(busy.reclaimed.slabs.load(), 0u);
}

TEST_F(sleeping_test, an_owner_that_only_frees_takes_its_inbox_in) {
  heap& busy = start();
  heap& sender = start();
  constexpr int ticks = 4;
  const auto small_blocks = allocate_many(busy, 0, ticks * calls_for_a_tick);
  const auto blocks = allocate_many(busy, class_of(512), 16 * 128);
  for (void* const block : blocks) give(sender, block);
  sender.send_all();
  const std::size_t before = heaps::central().used_bytes();
  EXPECT_FALSE(busy.remote_inbox.empty());
  for (std::size_t number = 0; number < small_blocks.size(); ++number) {
    if (number % calls_for_a_tick == 0) fake::advance_ms(250);
    busy.deallocate(small_blocks[number], 0);
  }
  EXPECT_TRUE(busy.remote_inbox.empty());
  EXPECT_LT(heaps::central().used_bytes(), before);
}

TEST_F(sleeping_test, what_was_reclaimed_is_not_lost_when_the_owner_ends) {
  heap& leaving = start();
  heap& sender = start();
  const size_class index = class_of(256);
  const auto blocks = allocate_many(leaving, index, reclaimable_bytes / 256);
  for (void* block : blocks) give_slowly(sender, block);
  sender.send_all();
  EXPECT_GT(leaving.reclaimed.slabs.load(), 0u);
  end(leaving);
  EXPECT_EQ(leaving.reclaimed.slabs.load(), 0u);
  EXPECT_TRUE(leaving.remote_inbox.empty());
  EXPECT_TRUE(leaving.is_valid());
  EXPECT_EQ(leaving.statistics().used_bytes, 0u);
  EXPECT_EQ(leaving.statistics().slabs, 0u);
}

// Slabs that a reclaim leaves in the inbox are examined again when a good part of them has changed.
TEST_F(sleeping_test, many_slabs_are_looked_at_seldom) {
  heap& sleeping = start();
  heap& sender = start();
  const size_class index = class_of(1024);
  const auto blocks = allocate_many(sleeping, index, 4 * reclaimable_bytes / 1024);
  for (std::size_t position = 0; position < blocks.size(); ++position) {
    if (position % 200 != 0) {  // fills most words, but hardly a slab
      give_slowly(sender, blocks[position]);
    }
  }
  sender.send_all();
  EXPECT_GT(sleeping.reclaim_bytes.load(), heaps::first_reclaim_bytes);
  for (std::size_t position = 0; position < blocks.size(); position += 200) give_slowly(sender, blocks[position]);
}

TEST_F(sleeping_test, heap_objects_are_left_alone) {
  heap& object = make();
  heap& sender = start();
  const size_class index = class_of(512);
  std::vector<void*> blocks;
  for (std::size_t bytes = 0; bytes < reclaimable_bytes; bytes += 512) blocks.push_back(allocate(object, index));
  const std::size_t before = object.space->used_bytes();
  for (void* block : blocks) give_slowly(sender, block);
  EXPECT_EQ(object.space->used_bytes(), before);
  EXPECT_EQ(object.reclaimed.slabs.load(), 0u);
}

bool never() noexcept { return false; }
bool always() noexcept { return true; }

class visit_test : public sleeping_test {
 protected:
  void SetUp() override {
    sleeping_test::SetUp();
    ASSERT_TRUE(platform::prepare_barriers());
  }
  /// Frees blocks of the heap, most of which then lie in its depots.
  static void fill_depots(heap& tested) {
    for (int wave = 0; wave < 4; ++wave) {  // a class that needs its blocks again keeps them in depots
      const auto blocks = allocate_many(tested, class_of(64), 16 * pages::unit_bytes / 64);
      for (void* const block : blocks) give(tested, block);
    }
    ASSERT_GT(tested.depot_bytes.get(), 0u);
  }
};

TEST_F(visit_test, depots_of_an_owner_that_sleeps_are_emptied) {
  heap& tested = start();
  fill_depots(tested);
  const std::size_t before = heaps::central().used_bytes();
  tested.visit(never);
  EXPECT_GT(tested.depot_bytes.get(), 0u) << "the owner may be at work";
  EXPECT_FALSE(tested.visit(never));
  EXPECT_EQ(tested.depot_bytes.get(), 0u);
  EXPECT_TRUE(tested.stock.empty()) << "other heaps may use the arrays of the depots, or their pages go back";
  EXPECT_TRUE(tested.is_valid());
  EXPECT_LT(heaps::central().used_bytes(), before);
  EXPECT_FALSE(tested.visit(never)) << "nothing is left to do";
}

// Returns 0 if nobody visits once the kernel refuses barriers. The calling process is restricted from then on.
int visit_without_barriers() {
  heaps::owner_lock tested;
  if (!tested.try_visit()) return 1;
  tested.end_visit();
  if (refuse_call(SYS_membarrier, EPERM) != 0) return 2;
  if (tested.try_visit()) return 3;
  tested.enter();  // never ends if a visit were still noted
  tested.leave();
  return 0;
}

// A program may restrict itself after its first barrier, as sandboxes do.
TEST_F(visit_test, nobody_visits_once_the_kernel_refuses_barriers) {
  EXPECT_EXIT(_exit(visit_without_barriers()), testing::ExitedWithCode(0), "");
}

TEST_F(visit_test, an_owner_that_works_keeps_its_depots) {
  heap& tested = start();
  fill_depots(tested);
  for (int round = 0; round < 5; ++round) {
    tick(tested);
    tested.visit(never);
    EXPECT_GT(tested.depot_bytes.get(), 0u);
  }
}

TEST_F(visit_test, ends_when_it_is_told_to) {
  heap& tested = start();
  const auto blocks = allocate_many(tested, class_of(64), 64 * magazine_count());
  give(tested, blocks[0]);
  tested.visit(never);
  EXPECT_TRUE(tested.visit(always));
  EXPECT_FALSE(tested.visit(never));
  for (std::size_t number = 1; number < blocks.size(); ++number) give(tested, blocks[number]);
}

TEST_F(visit_test, pages_between_blocks_in_use_go_back) {
  heap& tested = start();
  const auto blocks = allocate_many(tested, class_of(1024), 40 * 64);
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    if (number % 64 != 0) give(tested, blocks[number]);
  }
  const std::uint64_t before = platform::purge_totals().bytes;
  tested.visit(never);
  tested.visit(never);
  EXPECT_GE(platform::purge_totals().bytes - before, 40 * 32_KiB);
  for (std::size_t number = 0; number < blocks.size(); number += 64) give(tested, blocks[number]);
}

TEST_F(visit_test, takes_in_what_others_have_freed) {
  heap& tested = start();
  heap& helper = start();
  const auto blocks = allocate_many(tested, class_of(1024), 64);
  for (void* const block : blocks) give(helper, block);
  helper.send_all();
  ASSERT_FALSE(tested.remote_inbox.empty());
  tested.visit(never);
  tested.visit(never);
  EXPECT_TRUE(tested.remote_inbox.empty());
  EXPECT_TRUE(tested.is_valid());
}

// The owner frees or allocates blocks of which its magazines and slabs have enough, and never looks into its inbox.
TEST_F(visit_test, takes_in_what_an_owner_at_work_leaves_in_its_inbox) {
  heap& busy = start();
  heap& sender = start();
  const auto blocks = allocate_many(busy, class_of(1024), 8 * 64);
  const std::size_t before = heaps::central().used_bytes();
  busy.visit(never);
  for (void* const block : blocks) give(sender, block);
  sender.send_all();
  busy.slow_calls.add(1);
  EXPECT_TRUE(busy.visit(never));
  EXPECT_FALSE(busy.remote_inbox.empty()) << "the owner may be about to take it in";
  busy.slow_calls.add(1);
  busy.visit(never);
  EXPECT_TRUE(busy.remote_inbox.empty());
  EXPECT_TRUE(busy.is_valid());
  EXPECT_LT(heaps::central().used_bytes(), before);
}

TEST_F(visit_test, leaves_the_inbox_to_an_owner_that_takes_it_in) {
  heap& busy = start();
  heap& sender = start();
  const auto blocks = allocate_many(busy, class_of(1024), 4);
  for (void* const block : blocks) {
    busy.collect();
    give(sender, block);
    sender.send_all();
    busy.slow_calls.add(1);
    busy.visit(never);
    EXPECT_FALSE(busy.remote_inbox.empty());
  }
}

TEST_F(visit_test, heaps_without_a_thread_are_left_alone) {
  heap& tested = start();
  void* const block = allocate(tested, 0);
  end(tested);
  EXPECT_FALSE(tested.visit(never));
  EXPECT_FALSE(tested.visit(never));
  heap& helper = start();
  give(helper, block);
}

// Returns how many bytes of blocks lie in front magazines, in a heap none of whose blocks the program has.
std::size_t bytes_in_fronts(const heap& tested) { return tested.taken_bytes.get() - tested.depot_bytes.get(); }

TEST_F(visit_test, front_magazines_of_an_owner_that_sleeps_are_emptied) {
  heap& tested = start();
  const size_class classes[] = {class_of(16), class_of(64), class_of(1000), class_of(8192)};
  std::size_t newest_bytes = 0;
  for (const size_class index : classes) {
    for (void* const block : allocate_many(tested, index, heaps::first_capacity_of(index))) give(tested, block);
    newest_bytes += size_of(index);
  }
  ASSERT_GT(bytes_in_fronts(tested), newest_bytes);
  tested.visit(never);
  EXPECT_FALSE(tested.visit(never));
  EXPECT_EQ(bytes_in_fronts(tested), newest_bytes) << "the newest block of each class stays";
  EXPECT_TRUE(tested.is_valid());
  // The magazines serve as before.
  for (int round = 0; round < 2; ++round) {
    for (const size_class index : classes) {
      live_blocks live;
      for (void* const block : allocate_many(tested, index, 3 * heaps::capacity_of(index))) {
        live.add(block, size_of(index));
      }
      while (live.size() != 0) give(tested, live.remove(0));
    }
    tested.visit_now();
  }
  expect_in_use(tested, 0);
}

TEST_F(visit_test, of_large_blocks_the_newest_goes_too) {
  heap& tested = start();
  for (const size_class index : {pages::first_wide, class_of(30'000)}) {
    for (int round = 0; round < 2; ++round) {
      while (tested.classes[index].front == nullptr || tarn::detail::is_empty(tested.top[index])) {
        for (void* const block : allocate_many(tested, index, 4 * heaps::capacity_of(index))) give(tested, block);
      }
      ASSERT_GT(bytes_in_fronts(tested), 0u);
      tested.visit_now();
      EXPECT_EQ(bytes_in_fronts(tested), 0u);
      EXPECT_TRUE(tested.is_valid());
    }
  }
  expect_in_use(tested, 0);
}

// The owner frees into a magazine that a visitor has emptied, until it is full.
TEST_F(visit_test, gaps_in_a_front_magazine_are_closed) {
  heap& tested = start();
  const size_class index = class_of(64);
  const std::size_t count = heaps::first_capacity_of(index);
  const auto first = allocate_many(tested, index, count);
  const auto second = allocate_many(tested, index, 4 * heaps::capacity_of(index));
  for (std::size_t number = 0; number < count / 2; ++number) give(tested, first[number]);
  tested.visit_now();
  EXPECT_EQ(bytes_in_fronts(tested), (count - count / 2 + second.size() + 1) * size_of(index));
  for (std::size_t number = count / 2; number < count; ++number) give(tested, first[number]);
  for (void* const block : second) {
    give(tested, block);
    ASSERT_TRUE(tested.is_valid());
  }
  expect_in_use(tested, 0);
}

TEST_F(visit_test, an_owner_that_uses_its_front_magazines_keeps_them) {
  heap& tested = start();
  const size_class index = class_of(64);
  const auto blocks = allocate_many(tested, index, 8);
  for (void* const block : blocks) {
    tested.visit(never);
    const std::size_t before = bytes_in_fronts(tested);
    give(tested, block);  // no slow call
    tested.visit(never);
    EXPECT_EQ(bytes_in_fronts(tested), before);
  }
  tested.visit(never);
  EXPECT_EQ(bytes_in_fronts(tested), size_of(index));
}

// Keeps slabs of which most blocks are free, so that a visit of the heap is worth its cost in any case.
std::vector<void*> keep_sparse_slabs(heap& tested, size_class index, const std::vector<void*>& blocks) {
  std::vector<void*> kept_blocks;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    if (number % 32 == 0) {
      kept_blocks.push_back(blocks[number]);
    } else {
      tested.deallocate(blocks[number], index);
    }
  }
  tested.flush_all();
  return kept_blocks;
}

// A thread that wakes often uses a few sizes, and makes no slow call for them.
TEST_F(visit_test, front_magazines_of_idle_classes_are_emptied_beside_fast_calls) {
  heap& tested = start();
  const size_class kept_class = class_of(1024);
  const auto kept_blocks = keep_sparse_slabs(tested, kept_class, allocate_many(tested, kept_class, 4_MiB / 1024));
  const size_class used_class = class_of(64);
  const size_class idle_classes[] = {class_of(16), class_of(200), class_of(8192), class_of(30'000)};
  // Three frees and an allocation in turn: `top` differs at each visit, and fits the small magazines of some builds.
  constexpr std::size_t visit_count = 11, freed_count = 9;
  auto used_blocks = allocate_many(tested, used_class, freed_count);
  std::size_t newest_bytes = 0;
  for (const size_class index : idle_classes) {
    for (int round = 0; round < 3; ++round) {  // large blocks get a magazine when they are needed again
      for (void* const block : allocate_many(tested, index, 2 * heaps::first_capacity_of(index))) give(tested, block);
    }
    ASSERT_NE(tested.classes[index].front, nullptr);
    newest_bytes += index < pages::first_wide ? size_of(index) : 0;
  }
  heaps::class_state& used_state = tested.classes[used_class];
  while (tested.top[used_class] != used_state.bottom()) used_blocks.push_back(allocate(tested, used_class));
  used_state.seen_top = used_state.bottom();  // as a decay would leave it
  const std::size_t before = bytes_in_fronts(tested);
  const std::uint64_t calls = tested.slow_calls.get();
  const std::size_t used_bytes = used_blocks.size() * size_of(used_class);
  for (std::size_t visit = 0; visit < visit_count; ++visit) {
    if (visit % 4 == 3) {
      used_blocks.push_back(allocate(tested, used_class));
    } else {
      give(tested, used_blocks.back());
      used_blocks.pop_back();
    }
    EXPECT_TRUE(tested.visit(never)) << "the owner may use less later";
  }
  ASSERT_EQ(tested.slow_calls.get(), calls);
  EXPECT_GE(static_cast<std::size_t>(tested.top[used_class] - used_state.bottom()), 2 * freed_count - visit_count);
  EXPECT_FALSE(used_state.has_gaps);
  EXPECT_EQ(bytes_in_fronts(tested), kept_blocks.size() * size_of(kept_class) + used_bytes + newest_bytes);
  EXPECT_LT(bytes_in_fronts(tested), before);
  EXPECT_TRUE(tested.is_valid());
  for (void* const block : used_blocks) give(tested, block);
  for (void* const block : kept_blocks) give(tested, block);
  expect_in_use(tested, 0);
}

// The calls of a hardened heap, which is closed, use its magazines without slow calls that count.
TEST_F(visit_test, a_closed_heap_in_use_keeps_its_magazines) {
  heap& tested = start();
  tested.add_trait(heaps::heap_trait::counting);
  const size_class kept_class = class_of(1024);
  const auto kept_blocks = keep_sparse_slabs(tested, kept_class, allocate_many(tested, kept_class, 4_MiB / 1024));
  const size_class used_class = class_of(64);
  const size_class idle_class = class_of(200);
  for (const size_class index : {used_class, idle_class}) {
    tested.deallocate(tested.allocate(index), index);
  }
  void**& used_top = tested.classes[used_class].closed_top;
  for (int visit = 0; visit < 12; ++visit) {
    used_top += visit % 2 == 0 ? -1 : 1;
    tested.visit(never);
    EXPECT_NE(tested.classes[idle_class].front, nullptr);
  }
  for (void* const block : kept_blocks) give(tested, block);
  tested.flush_all();
  tested.policy.clear();
}

// A thread that wakes often makes a slow call now and then: 64 of them may take minutes.
TEST_F(visit_test, an_owner_of_few_slow_calls_gives_up_what_it_does_not_need) {
  heap& tested = start();
  fill_depots(tested);
  tick(tested, class_of(500));
  ASSERT_GT(tested.depot_bytes.get(), 0u);
  while (tested.slow_calls.get() % calls_for_a_tick != 0) tested.slow_calls.add(1);
  for (int call = 0; call < 4; ++call) {
    EXPECT_GT(tested.depot_bytes.get(), 0u) << "the visitor leaves them to an owner that works";
    tested.visit(never);
    fake::advance_ms(250);
    tested.deallocate(tested.allocate(class_of(500)), class_of(500));
    if (tested.depot_bytes.get() == 0) break;
  }
  EXPECT_EQ(tested.depot_bytes.get(), 0u);
  EXPECT_TRUE(tested.is_valid());
  expect_in_use(tested, 0);
}

// Without a visitor that asks for it, the clock is not read more often than before.
TEST_F(visit_test, one_visit_asks_for_one_tick) {
  heap& tested = start();
  const size_class index = class_of(500);
  tested.deallocate(tested.allocate(index), index);
  tested.visit(never);
  EXPECT_TRUE(tested.must_tick.load());
  tested.deallocate(tested.allocate(index), index);
  EXPECT_FALSE(tested.must_tick.load());
  tested.visit(never);
  tested.visit(never);
  tested.must_tick = false;
  tested.visit(never);
  EXPECT_FALSE(tested.must_tick.load()) << "no slow call came since the last visit";
}

/// The two calls for a heap whose owner may sleep.
enum class visit_kind { of_helper, of_trim };
const char* name_of(visit_kind kind) { return kind == visit_kind::of_trim ? "of_trim" : "of_helper"; }
void PrintTo(visit_kind kind, std::ostream* output) { *output << name_of(kind); }
class visit_of_kind : public visit_test, public testing::WithParamInterface<visit_kind> {};
INSTANTIATE_TEST_SUITE_P(kinds, visit_of_kind, testing::Values(visit_kind::of_helper, visit_kind::of_trim),
                         [](const auto& kind) { return name_of(kind.param); });

// The owner allocates and frees in bursts while a visitor comes all the time. Of some sizes it takes the newest block.
TEST_P(visit_of_kind, gives_no_block_to_two_and_loses_none) {
  heap& tested = start();
  std::atomic<bool> is_finished{false};
  std::thread visitor([&] {
    while (!is_finished) {
      if (GetParam() == visit_kind::of_trim) {
        tested.visit_now();
      } else {
        tested.visit(never);
      }
    }
  });
  std::mt19937 random(1);
  live_blocks live;
  std::vector<std::pair<void*, size_class>> blocks;
  for (int round = 0; round < 20'000; ++round) {
    if (blocks.size() < random() % 600) {
      const size_class index = class_of(random() % 3 == 0 ? 9'000 + random() % 9'000 : 16 + random() % 3'000);
      blocks.emplace_back(allocate(tested, index), index);
      live.add(blocks.back().first, size_of(index));
    } else if (live.size() != 0) {
      void* const freed_block = live.remove(random());
      give(tested, freed_block);
      std::erase_if(blocks, [&](const auto& entry) { return entry.first == freed_block; });
    }
  }
  while (live.size() != 0) give(tested, live.remove(0));
  is_finished = true;
  visitor.join();
  expect_in_use(tested, 0);
}

}  // namespace
}  // namespace heap_tests
