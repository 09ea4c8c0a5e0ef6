// Runs operation sequences on every pool against an oracle: three threads in turn, an upstream that fails, guarded
// and not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
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

constexpr std::size_t block_words = 5;
struct block {
  std::uint64_t word[block_words];
};

template <class Pool>
class pool_sequences : public testing::Test {};
using pools = testing::Types<tarn::pool<block>, tarn::pool<block, std::mutex>, tarn::pool<block, tarn::spin_mutex>,
                             tarn::shared_pool<block>, tarn::lock_free_pool<block>>;
TYPED_TEST_SUITE(pool_sequences, pools);

/// Tracks the program's blocks, each with the number that fills it.
class oracle {
 public:
  void took(block* new_block, std::uint64_t number) {
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(new_block) % alignof(block), 0u);
    const auto [position, is_new] = blocks_.emplace(new_block, number);
    ASSERT_TRUE(is_new) << "handed out twice";
    ASSERT_TRUE(position == blocks_.begin() || std::prev(position)->first + 1 <= new_block)
        << "overlaps the block before";
    ASSERT_TRUE(std::next(position) == blocks_.end() || new_block + 1 <= std::next(position)->first)
        << "overlaps the block behind";
    std::fill_n(new_block->word, block_words, number);
  }
  block* block_at(std::uint64_t index) {
    auto position = blocks_.begin();
    std::advance(position, static_cast<std::ptrdiff_t>(index % std::min<std::size_t>(blocks_.size(), 60)));
    const bool is_whole = std::all_of(position->first->word, position->first->word + block_words,
                                      [&](std::uint64_t word) { return word == position->second; });
    EXPECT_TRUE(is_whole) << "written over";
    block* const block_chosen = position->first;
    blocks_.erase(position);
    return block_chosen;
  }
  bool is_empty() const { return blocks_.empty(); }
  std::size_t size() const { return blocks_.size(); }

 private:
  std::map<block*, std::uint64_t> blocks_;
};

constexpr std::size_t limit = 400;

template <class Pool>
void play(unsigned seed, bool is_guarded) {
  constexpr bool has_one_thread = std::is_same_v<Pool, tarn::pool<block>>;
  std::minstd_rand random(seed);
  support::upstream memory;
  Pool tested(tarn::pool_options{.name = "tested",
                                 .upstream = &memory,
                                 .first_chunk_blocks = 1 + seed % 7,
                                 .increment_blocks = seed % 3 * 5,
                                 .limit_blocks = limit,
                                 .is_guarded = is_guarded});
  oracle model;
  std::vector<std::unique_ptr<support::worker>> workers(has_one_thread ? 1 : 3);
  for (auto& worker : workers) worker = std::make_unique<support::worker>();
  for (std::uint64_t step = 0; step < 1200; ++step) {
    const auto chance = random() % 100;
    const bool is_growing = step / 300 % 2 == 0;
    auto& acting = workers[random() % workers.size()];
    if (chance < (is_growing ? 60u : 30u)) {
      memory.fail_request(random() % 4);
      block* new_block = nullptr;
      acting->run([&] { new_block = static_cast<block*>(tested.try_allocate()); });
      memory.fail_request(0);
      if (new_block != nullptr) model.took(new_block, step);
    } else if (chance < 98) {
      if (!model.is_empty()) {
        block* const freed = model.block_at(random());
        acting->run([&] { tested.deallocate(freed); });
      }
    } else if (!has_one_thread) {
      acting = std::make_unique<support::worker>();  // ends the thread and starts another
    }
    ASSERT_LE(model.size(), limit);
    if (testing::Test::HasFatalFailure()) return;
  }
  while (!model.is_empty()) tested.deallocate(model.block_at(random()));
  // The whole capacity is available once more.
  workers.clear();
  for (std::uint64_t number = 0; number < limit; ++number) {
    auto* const new_block = static_cast<block*>(tested.try_allocate());
    ASSERT_NE(new_block, nullptr) << number;
    model.took(new_block, number);
  }
  EXPECT_EQ(tested.try_allocate(), nullptr);
  while (!model.is_empty()) tested.deallocate(model.block_at(random()));
}

TYPED_TEST(pool_sequences, agree_with_an_oracle) {
  for (unsigned seed = 1; seed <= 12 && !this->HasFatalFailure(); ++seed) play<TypeParam>(seed, false);
}
TYPED_TEST(pool_sequences, agree_with_an_oracle_on_guarded_blocks) {
  for (unsigned seed = 1; seed <= 3 && !this->HasFatalFailure(); ++seed) play<TypeParam>(seed, true);
}

}  // namespace
