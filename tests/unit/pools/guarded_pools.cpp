// Pools whose blocks are guarded one by one keep the contract of the pools. tests/programs/misuse tests the faults
// that they find.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <tarn/lock_free_pool.hpp>
#include <tarn/pool.hpp>
#include <tarn/shared_pool.hpp>

namespace {

struct alignas(64) wide {
  char bytes[100];
};

template <class Pool>
class guarded_pools : public testing::Test {
 public:
  Pool pool{tarn::pool_options{.name = "guarded", .limit_blocks = 100, .is_guarded = true}};
};
using pools = testing::Types<tarn::pool<wide>, tarn::pool<wide, tarn::spin_mutex>, tarn::shared_pool<wide>,
                             tarn::lock_free_pool<wide>>;
TYPED_TEST_SUITE(guarded_pools, pools);

TYPED_TEST(guarded_pools, blocks_are_aligned_and_apart) {
  std::set<char*> places;
  for (int round = 0; round < 50; ++round) {
    auto* const block = static_cast<char*>(this->pool.allocate());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(wide), 0u);
    std::memset(block, round, sizeof(wide));
    const auto next = places.insert(block).first;
    EXPECT_TRUE(next == places.begin() || *std::prev(next) + sizeof(wide) < *next) << "a fence between";
  }
  for (char* const block : places) this->pool.deallocate(block);
}

TYPED_TEST(guarded_pools, the_limit_holds) {
  std::vector<void*> allocated;
  for (int round = 0; round < 100; ++round) allocated.push_back(this->pool.allocate());
  EXPECT_EQ(this->pool.try_allocate(), nullptr);
  try {
    static_cast<void>(this->pool.allocate());
    ADD_FAILURE();
  } catch (const tarn::pool_limit_reached& refused) {
    EXPECT_EQ(refused.what(),
              std::string("tarn: pool \"guarded\": limit reached: all 100 blocks of 128 bytes are in use"));
  }
  this->pool.deallocate(allocated.back());
  allocated.back() = this->pool.allocate();
  for (void* const block : allocated) this->pool.deallocate(block);
  this->pool.reserve(100);
  EXPECT_THROW(this->pool.reserve(101), std::bad_alloc);
}

TYPED_TEST(guarded_pools, a_freed_block_rests) {
  void* const first = this->pool.allocate();
  this->pool.deallocate(first);
  void* const two = this->pool.allocate();
  EXPECT_NE(first, two);
  this->pool.deallocate(two);
}

TYPED_TEST(guarded_pools, other_threads_use_them) {
  const auto use = [this] {
    for (int round = 0; round < 300; ++round) {
      void* const block = this->pool.allocate();
      void* const two = this->pool.allocate();
      this->pool.deallocate(block);
      this->pool.deallocate(two);
    }
  };
  std::thread first(use);
  if (std::is_same_v<TypeParam, tarn::pool<wide>>) {
    first.join();  // one thread at a time
  }
  std::thread(use).join();
  if (first.joinable()) first.join();
}

TEST(guarded_pool, counts_and_visits_what_lives) {
  tarn::fixed_pool blocks(24, 8, {.is_guarded = true});
  std::set<void*> live;
  std::vector<void*> others;
  for (int round = 0; round < 300; ++round) {
    live.insert(blocks.allocate());
    others.push_back(blocks.allocate());
  }
  for (void* const block : others) blocks.deallocate(block);
  EXPECT_EQ(blocks.statistics().in_use, 300u);
  EXPECT_EQ(blocks.statistics().peak_in_use, 600u);
  std::vector<void*> visited;
  blocks.for_each_live([&](void* block) { visited.push_back(block); });
  EXPECT_EQ(visited, std::vector<void*>(live.begin(), live.end())) << "by address";
  blocks.deallocate(*live.begin());
  EXPECT_EQ(blocks.statistics().in_use, 299u);
  EXPECT_TRUE(blocks.is_valid());
  blocks.clear();
  EXPECT_EQ(blocks.statistics().in_use, 0u);
  static_cast<void>(blocks.allocate());
  blocks.release();
  EXPECT_EQ(blocks.statistics().in_use, 0u);
}

#if TARN_ADDRESS_SANITIZER
template <class Pool>
void expect_poisoned_when_free(const tarn::pool_options& options) {
  const auto is_poisoned = [](const void* address) { return __asan_address_is_poisoned(address) != 0; };
  Pool pool(options);
  std::vector<char*> blocks;
  for (int round = 0; round < 600; ++round) {  // passes through magazine, carriers and depot
    blocks.push_back(static_cast<char*>(pool.allocate()));
    EXPECT_FALSE(is_poisoned(blocks.back())) << round;
    EXPECT_FALSE(is_poisoned(blocks.back() + sizeof(wide) - 1)) << round;
  }
  for (char* const block : blocks) pool.deallocate(block);
  for (char* const block : blocks) EXPECT_TRUE(is_poisoned(block) && is_poisoned(block + sizeof(wide) - 1));
}

TEST(poisoned_pools_death, a_use_after_free_is_reported_by_the_sanitizer) {
  tarn::pool<wide> nodes;
  tarn::shared_pool<wide> shared;
  tarn::lock_free_pool<wide> freely;
  const auto read_after_free = [](auto& pool) {
    auto* const block = static_cast<volatile char*>(pool.allocate());
    pool.deallocate(const_cast<char*>(block));
    static_cast<void>(block[7]);
  };
  EXPECT_DEATH(read_after_free(nodes), "use-after-poison");
  EXPECT_DEATH(read_after_free(shared), "use-after-poison");
  EXPECT_DEATH(read_after_free(freely), "use-after-poison");
}

TEST(poisoned_pools, free_blocks_are_poisoned) {
  for (const bool guard : {false, true}) {
    expect_poisoned_when_free<tarn::pool<wide>>({.is_guarded = guard});
    expect_poisoned_when_free<tarn::pool<wide, tarn::spin_mutex>>({.is_guarded = guard});
    expect_poisoned_when_free<tarn::shared_pool<wide>>({.is_guarded = guard});
    expect_poisoned_when_free<tarn::lock_free_pool<wide>>({.is_guarded = guard});
  }
}
#endif

}  // namespace
