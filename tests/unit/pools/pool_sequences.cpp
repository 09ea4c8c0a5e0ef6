// Runs operation sequences on every pool against an oracle: three threads in turn, an upstream that fails, guarded
// and not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include <tarn/lock_free_pool.hpp>
#include <tarn/pool.hpp>
#include <tarn/shared_pool.hpp>

#include "support/upstream.hpp"
#include "support/worker.hpp"

namespace {

constexpr std::size_t words = 5;
struct block {
  std::uint64_t word[words];
};

template <class Pool>
class pool_sequences : public testing::Test {};
using pools = testing::Types<tarn::pool<block>, tarn::pool<block, std::mutex>, tarn::pool<block, tarn::spin_mutex>,
                             tarn::shared_pool<block>, tarn::lock_free_pool<block>>;
TYPED_TEST_SUITE(pool_sequences, pools);

/// Tracks the program's blocks, each with the number that fills it.
class oracle {
 public:
  void took(block* taken, std::uint64_t number) {
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(taken) % alignof(block), 0u);
    const auto [at, is_new] = all_.emplace(taken, number);
    ASSERT_TRUE(is_new) << "handed out twice";
    ASSERT_TRUE(at == all_.begin() || std::prev(at)->first + 1 <= taken) << "overlaps the block before";
    ASSERT_TRUE(std::next(at) == all_.end() || taken + 1 <= std::next(at)->first) << "overlaps the block behind";
    std::fill_n(taken->word, words, number);
  }
  block* chosen(std::uint64_t which) {
    auto at = all_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(which % std::min<std::size_t>(all_.size(), 60)));
    const bool whole =
        std::all_of(at->first->word, at->first->word + words, [&](std::uint64_t word) { return word == at->second; });
    EXPECT_TRUE(whole) << "written over";
    block* const found = at->first;
    all_.erase(at);
    return found;
  }
  bool is_empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }

 private:
  std::map<block*, std::uint64_t> all_;
};

constexpr std::size_t limit = 400;

template <class Pool>
void play(unsigned seed, bool guard) {
  constexpr bool one_thread = std::is_same_v<Pool, tarn::pool<block>>;
  std::minstd_rand random(seed);
  support::upstream memory;
  Pool tested(tarn::pool_options{.name = "tested",
                                 .upstream = &memory,
                                 .first_chunk = 1 + seed % 7,
                                 .step = seed % 3 * 5,
                                 .limit = limit,
                                 .guard = guard});
  oracle known;
  std::vector<std::unique_ptr<support::worker>> workers(one_thread ? 1 : 3);
  for (auto& each : workers) {
    each = std::make_unique<support::worker>();
  }
  for (std::uint64_t step = 0; step < 1200; ++step) {
    const auto what = random() % 100;
    const bool growing = step / 300 % 2 == 0;
    auto& by = workers[random() % workers.size()];
    if (what < (growing ? 60u : 30u)) {
      memory.fail_request(random() % 4);
      block* taken = nullptr;
      by->run([&] { taken = static_cast<block*>(tested.try_allocate()); });
      memory.fail_request(0);
      if (taken != nullptr) {
        known.took(taken, step);
      }
    } else if (what < 98) {
      if (!known.is_empty()) {
        block* const freed = known.chosen(random());
        by->run([&] { tested.deallocate(freed); });
      }
    } else if (!one_thread) {
      by = std::make_unique<support::worker>();  // ends the thread and starts another
    }
    ASSERT_LE(known.size(), limit);
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
  while (!known.is_empty()) {
    tested.deallocate(known.chosen(random()));
  }
  // The whole capacity is available once more.
  workers.clear();
  for (std::uint64_t number = 0; number < limit; ++number) {
    auto* const taken = static_cast<block*>(tested.try_allocate());
    ASSERT_NE(taken, nullptr) << number;
    known.took(taken, number);
  }
  EXPECT_EQ(tested.try_allocate(), nullptr);
  while (!known.is_empty()) {
    tested.deallocate(known.chosen(random()));
  }
}

TYPED_TEST(pool_sequences, agree_with_an_oracle) {
  for (unsigned seed = 1; seed <= 12 && !this->HasFatalFailure(); ++seed) {
    play<TypeParam>(seed, false);
  }
}
TYPED_TEST(pool_sequences, of_guarded_blocks_too) {
  for (unsigned seed = 1; seed <= 3 && !this->HasFatalFailure(); ++seed) {
    play<TypeParam>(seed, true);
  }
}

}  // namespace
