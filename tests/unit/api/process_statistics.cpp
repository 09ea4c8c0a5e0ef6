// Tests the statistics of the process.
#include "memory/api/statistics.hpp"

#include "front_fixture.hpp"

#include <latch>
#include <vector>

namespace front_tests {
namespace {

using tarn::process_statistics;
using tarn::api::process_now;

using process_figures = front_test;

TEST_F(process_figures, sum_up_the_heaps) {
  const process_statistics before = process_now();
  tarn::heap lane({.counts_calls = true});
  tarn::heap second_heap({.counts_calls = true});
  void* const first = lane.allocate(100);
  static_cast<void>(second_heap.allocate(1_MiB));
  lane.deallocate(first);
  const process_statistics now = process_now();
  EXPECT_EQ(now.sums.allocated_blocks, before.sums.allocated_blocks + 2);
  EXPECT_EQ(now.sums.allocated_bytes, before.sums.allocated_bytes + 112 + 1_MiB);
  EXPECT_EQ(now.sums.freed_blocks, before.sums.freed_blocks + 1);
  EXPECT_EQ(now.sums.large_blocks, before.sums.large_blocks + 1);
  EXPECT_EQ(now.sums.slabs, before.sums.slabs + 1);
  EXPECT_EQ(now.sums.footprint_bytes, before.sums.footprint_bytes + 64_KiB + 1_MiB);
}

TEST_F(process_figures, remember_heaps_that_are_no_more) {
  const process_statistics before = process_now();
  for (int round = 0; round < 3; ++round) {
    tarn::heap lane({.counts_calls = true});
    static_cast<void>(lane.allocate(100));
    static_cast<void>(lane.allocate(1_MiB));
  }
  const process_statistics now = process_now();
  EXPECT_EQ(now.sums.allocated_blocks, before.sums.allocated_blocks + 6);
  EXPECT_EQ(now.sums.freed_blocks, before.sums.freed_blocks + 6);
  EXPECT_EQ(now.sums.allocated_bytes, before.sums.allocated_bytes + 3 * (112 + 1_MiB));
  EXPECT_EQ(now.sums.refills, before.sums.refills + 3);
  EXPECT_EQ(now.sums.footprint_bytes, before.sums.footprint_bytes);
  EXPECT_EQ(now.sums.large_blocks, before.sums.large_blocks);
}

// A thread that sleeps takes nothing in.
TEST_F(process_figures, do_not_have_what_another_thread_freed_as_used) {
  constexpr std::size_t count = 10'000;
  const process_statistics before = process_now();
  std::vector<void*> blocks(count);
  std::latch are_allocated(1), are_freed(1);
  std::thread producer([&] {
    for (void*& block : blocks) block = tarn::current_heap().allocate(64);
    are_allocated.count_down();
    are_freed.wait();
  });
  are_allocated.wait();
  EXPECT_GE(process_now().sums.used_bytes, before.sums.used_bytes + count * 64);
  for (void* const block : blocks) tarn::current_heap().deallocate(block);
  const process_statistics now = process_now();
  EXPECT_LE(now.sums.used_bytes, before.sums.used_bytes + 128_KiB) << "of magazines";
  EXPECT_EQ(now.waiting_frees - before.waiting_frees + now.sums.remote_frees - before.sums.remote_frees, count);
  EXPECT_GT(now.waiting_frees, before.waiting_frees);
  are_freed.count_down();
  producer.join();
  tarn::api::trim();
  EXPECT_EQ(process_now().waiting_frees, before.waiting_frees);
  EXPECT_EQ(process_now().waiting_bytes, before.waiting_bytes);
}

// A reader may find more frees that wait than blocks in use.
TEST_F(process_figures, are_not_negative) {
  void* const large = tarn::current_heap().allocate(1_MiB);
  auto& own_heap = *static_cast<tarn::heaps::heap*>(tarn::detail::local_heap);
  constexpr std::uint64_t excess = std::uint64_t{1} << 40;
  own_heap.outgoing_blocks.add(excess);
  own_heap.outgoing_bytes.add(excess);
  const process_statistics now = process_now();
  own_heap.outgoing_blocks.subtract(excess);
  own_heap.outgoing_bytes.subtract(excess);
  EXPECT_GE(now.waiting_frees, excess);
  EXPECT_GE(now.sums.large_bytes, 1_MiB);
  EXPECT_EQ(now.sums.used_bytes, now.sums.large_bytes);
  EXPECT_LE(now.sums.freed_blocks, now.sums.allocated_blocks);
  tarn::current_heap().deallocate(large);
}

TEST_F(process_figures, count_threads) {
  const process_statistics before = process_now();
  for (int thread = 0; thread < 5; ++thread) {
    std::thread([] { tarn::current_heap().deallocate(tarn::current_heap().allocate(10)); }).join();
  }
  const process_statistics now = process_now();
  EXPECT_EQ(now.threads_started, before.threads_started + 5);
  EXPECT_EQ(now.abandoned_heaps, before.abandoned_heaps + 5);
  EXPECT_GE(now.adopted_heaps, before.adopted_heaps + 4);
  EXPECT_LE(now.heaps, before.heaps + 1);
}

TEST_F(process_figures, count_what_the_system_was_asked) {
  const process_statistics before = process_now();
  void* const block = tarn::current_heap().allocate(50_MiB);
  std::memset(block, 1, 1);
  const process_statistics during = process_now();
  EXPECT_GT(during.system_calls.mmap, before.system_calls.mmap);
  EXPECT_GE(during.footprint_bytes, before.footprint_bytes + 50_MiB);
  EXPECT_GE(during.peak_footprint_bytes, during.footprint_bytes);
  tarn::current_heap().deallocate(block);
  const process_statistics after = process_now();
  EXPECT_GT(after.system_calls.munmap, before.system_calls.munmap);
  EXPECT_EQ(after.footprint_bytes, during.footprint_bytes - 50_MiB);
  EXPECT_GE(after.peak_footprint_bytes, during.footprint_bytes);
  EXPECT_EQ(after.system_calls.sum(), platform::system_calls().sum());
}

TEST_F(process_figures, count_purges) {
  void* const block = tarn::current_heap().allocate(1);
  tarn::current_heap().deallocate(tarn::current_heap().allocate(3_MiB));
  const process_statistics before = process_now();
  tarn::api::trim();
  const process_statistics now = process_now();
  EXPECT_GT(now.purges, before.purges);
  EXPECT_GE(now.purged_bytes, before.purged_bytes + 3_MiB);
  tarn::current_heap().deallocate(block);
}

}  // namespace
}  // namespace front_tests
