// The n-th page request fails, for every n, in a scene that uses every feature: nothing crashes, nothing leaks, and
// afterwards everything works.
#include <list>

#include "front_fixture.hpp"
#include "support/child.hpp"
#include "tarn/tarn.h"

namespace front_tests {
namespace {

/// Holds blocks and checks their contents when it frees them.
class checked_blocks {
 public:
  static constexpr int fill = 0x6b;
  bool add(void* block, std::size_t bytes) {
    if (block == nullptr) return false;
    std::memset(block, fill, std::min<std::size_t>(bytes, 3'000));
    blocks_.push_back({block, bytes});
    return true;
  }
  void free_all() {
    for (const auto& [block, bytes] : blocks_) {
      EXPECT_TRUE(is_filled(block, std::min<std::size_t>(bytes, 3'000), fill));
      tarn::current_heap().deallocate(block);
    }
    blocks_.clear();
  }

 private:
  std::vector<std::pair<void*, std::size_t>> blocks_;
};

struct element : tarn::pooled<element> {
  char bytes[150];
};

/// Returns the number of steps that got no memory.
int scene() {
  int refused = 0;
  const auto count = [&refused](bool is_allocated) { refused += is_allocated ? 0 : 1; };
  const auto attempt = [&](auto step) {
    try {
      step();
    } catch (const std::bad_alloc&) {
      ++refused;
    }
  };

  checked_blocks own_blocks, others_blocks;
  for (const std::size_t bytes : {16, 64, 1'000, 9'000, 70'000, 200'000, 300'000, 5'000'000, 40'000'000}) {
    for (int round = 0; round < 5; ++round) {
      count(own_blocks.add(tarn::detail::allocate(tarn::detail::local_heap, bytes, 16), bytes));
    }
  }
  for (const std::size_t alignment : {64, 4096, 65'536, 1 << 21}) {
    count(own_blocks.add(tarn::detail::allocate(tarn::detail::local_heap, 500, alignment), 500));
  }
  count(own_blocks.add(tarn::api::allocate_zeroed(tarn::detail::local_heap, 10, 100'000), 1'000'000));

  {  // growing
    char* buffer = nullptr;
    for (std::size_t bytes = 100; bytes < 80'000'000; bytes *= 4) {
      if (char* const grown = static_cast<char*>(tarn::api::reallocate(tarn::detail::local_heap, buffer, bytes))) {
        EXPECT_TRUE(buffer == nullptr || grown[99] == 1);
        buffer = grown;
        std::memset(buffer, 1, 100);
      } else {
        ++refused;
      }
    }
    tarn::detail::deallocate(tarn::detail::local_heap, buffer);
  }

  attempt([&] {  // a heap object, current for a while, freed from here and there
    tarn::heap lane({.initial = 1 << 20, .increment = 2 << 20});
    checked_blocks in_lane;
    for (int round = 0; round < 200; ++round) count(in_lane.add(lane.try_allocate(20'000), 20'000));
    {
      const tarn::scoped_current_heap use(lane);
      attempt([] { std::list<int, tarn::allocator<int>> numbers(500, 1); });
      attempt([] { delete new element; });
    }
    in_lane.free_all();
    EXPECT_TRUE(lane.is_valid());
    lane.release();
    count(lane.try_allocate(100) != nullptr);
  });
  if (tarn_heap* const c_heap = tarn_heap_create(nullptr)) {
    count(tarn_heap_calloc(c_heap, 100, 100) != nullptr);
    tarn_heap_destroy(c_heap);
  } else {
    ++refused;
  }

  std::thread([&] {  // a thread that leaves blocks behind
    for (const std::size_t bytes : {32, 5'000, 400'000}) {
      for (int round = 0; round < 30; ++round) {
        count(others_blocks.add(tarn::detail::allocate(tarn::detail::local_heap, bytes, 16), bytes));
      }
    }
    attempt([&] { count(others_blocks.add(tarn::process_heap().try_allocate(700), 700)); });
    attempt([] { static_cast<void>(tarn::current_heap()); });
  })
      .join();
  attempt([&] { others_blocks.free_all(); });  // remote frees, to a heap without a thread
  std::thread([&] {                            // the next thread adopts it
    for (int round = 0; round < 100; ++round) {
      void* const block = tarn::detail::allocate(tarn::detail::local_heap, 32, 16);
      count(block != nullptr);
      tarn::detail::deallocate(tarn::detail::local_heap, block);
    }
    tarn::api::trim();
  })
      .join();

  fake::advance_ms(300);
  attempt([&] { own_blocks.free_all(); });
  tarn::api::trim();
  return refused;
}

class failing : public front_test {
 protected:
  void SetUp() override {
    front_test::SetUp();
    // Runs until each heap has the records that it keeps for itself.
    for (int quiet = 0, rounds = 0; quiet < 10; ++rounds) {
      ASSERT_LT(rounds, 1'000);
      char* const before = next_record();
      ASSERT_EQ(scene(), 0);
      settle();
      quiet = next_record() == before + 1 ? quiet + 1 : 0;
    }
  }

  /// Returns the bytes that are mapped when nothing is in use: metadata and the tables of the page map.
  static std::size_t at_rest() {
    settle();
    tarn::heaps::central().purge_all();
    return platform::mapped_bytes();
  }
  /// Returns the same without metadata, which grows in steps and is never given back.
  static std::size_t blocks_at_rest() { return at_rest() - tarn::pages::metadata::committed_bytes(); }
  static char* next_record() { return static_cast<char*>(tarn::pages::metadata::allocate(1, 1)); }
};

TEST_F(failing, is_survived_whichever_request_fails) {
  int hit = 0;
  bool has_failed = true;
  for (std::uint64_t n = 1; has_failed; ++n) {
    const std::size_t blocks_before = blocks_at_rest();
    // Records are never given back but used again: after some rounds the same failure takes no more of them.
    constexpr int max_rounds = 10;
    for (int round = 0;; ++round) {
      ASSERT_LT(round, max_rounds) << "records are lost each time that request " << n << " fails";
      char* const before = next_record();
      fake::reset();
      fake::fail_request(n);
      scene();
      has_failed = fake::refused_requests() != 0;
      fake::fail_request(0);
      settle();
      ASSERT_EQ(in_use(), 0u) << "lost when request " << n << " failed";
      ASSERT_TRUE(tarn::heaps::central().is_valid()) << n;
      ASSERT_TRUE(tarn::current_heap().is_valid()) << n;
      if (next_record() == before + 1) break;
    }
    ASSERT_LE(blocks_at_rest(), blocks_before) << "mapped memory was lost when request " << n << " failed";
    hit += has_failed ? 1 : 0;
  }
  ASSERT_EQ(scene(), 0);
  EXPECT_GT(hit, 8);
}

TEST_F(failing, is_survived_when_all_requests_from_one_on_fail) {
  for (std::uint64_t n = 1;; ++n) {
    fake::reset();
    fake::fail_requests_from(n);
    scene();
    const bool has_failed = fake::refused_requests() != 0;
    fake::fail_requests_from(0);
    settle();
    ASSERT_EQ(in_use(), 0u) << n;
    ASSERT_TRUE(tarn::heaps::central().is_valid()) << n;
    if (!has_failed) break;
  }
  ASSERT_EQ(scene(), 0);
}

// The system has a memory budget: it serves requests that fit and refuses the others.
TEST_F(failing, is_survived_within_every_budget) {
  for (std::size_t budget = 0; budget < 200_MiB; budget += budget < 10_MiB ? 700'000 : 13_MiB) {
    fake::set_budget(at_rest() + budget);
    scene();
    settle();
    ASSERT_EQ(in_use(), 0u) << budget;
    fake::set_budget(0);
  }
  ASSERT_EQ(scene(), 0);
}

// The process has done nothing yet, so the first slab, the first magazine and the first heap fail.
TEST(failing_cold, is_survived_from_the_start_whichever_request_fails) {
  bool has_failed = true;
  for (std::uint64_t n = 1; has_failed; ++n) {
    const support::ending child_ending = support::in_child([n] {
      fake::reset();
      fake::fail_request(n);
      scene();
      const bool has_failed_request = fake::refused_requests() != 0;
      fake::fail_request(0);
      if (scene() != 0 || testing::Test::HasFailure()) return 2;
      settle();
      if (in_use() != 0 || !tarn::heaps::central().is_valid()) return 3;
      return has_failed_request ? 0 : 1;
    });
    ASSERT_EQ(child_ending.signal, 0) << n << "\n" << child_ending;
    ASSERT_LE(child_ending.status, 1) << n << "\n" << child_ending;
    has_failed = child_ending.status == 0;
  }
}

}  // namespace
}  // namespace front_tests
