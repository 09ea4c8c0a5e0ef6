// Random operations on heaps, against the plainest oracle: every live block keeps the
// bytes that were written into it, lies apart from all others, and is aligned. Blocks
// are freed here, by another thread, or by release().
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <tarn/tarn.h>
#include <tarn/tarn.hpp>

namespace {

struct live_block {
  std::size_t bytes;
  unsigned char fill;
  bool of_lane;
};

class sequence {
 public:
  explicit sequence(std::uint32_t seed) : random_(seed) {}

  void play(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      switch (random_() % 16) {
        case 0: free_elsewhere(); break;
        case 1: resize(); break;
        case 2:
          if (random_() % 64 == 0) release();
          break;
        case 3:
        case 4:
        case 5:
        case 6:
        case 7: free_one(); break;
        default: allocate(); break;
      }
    }
    EXPECT_TRUE(lane_.is_valid());
    EXPECT_TRUE(tarn::current().is_valid());
    while (!blocks_.empty()) {
      free_one();
    }
  }

 private:
  std::size_t any_size() {
    switch (random_() % 8) {
      case 0: return random_() % (600 << 10);
      case 1: return random_() % (20 << 10);
      default: return random_() % 1100;
    }
  }

  void allocate() {
    const std::size_t bytes = any_size();
    const std::size_t alignment = random_() % 4 == 0 ? std::size_t{1} << (random_() % 14) : 16;
    const bool of_lane = random_() % 2 == 0;
    tarn::heap& from = of_lane ? lane_ : tarn::current();
    enter(from.allocate(bytes, alignment), bytes, alignment, of_lane);
  }

  void enter(void* block, std::size_t bytes, std::size_t alignment, bool of_lane) {
    auto* const start = static_cast<unsigned char*>(block);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(start) % alignment, 0u);
    const auto next = blocks_.lower_bound(start);
    ASSERT_TRUE(next == blocks_.end() || start + bytes <= next->first);
    ASSERT_TRUE(next == blocks_.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= start);
    const auto fill = static_cast<unsigned char>(random_());
    std::memset(start, fill, bytes);
    blocks_[start] = {bytes, fill, of_lane};
  }

  std::map<unsigned char*, live_block>::iterator any() {
    return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(random_() % blocks_.size()));
  }

  static void check(const unsigned char* start, const live_block& block, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; ++at) {
      ASSERT_EQ(start[at], block.fill) << "byte " << at << " of " << block.bytes;
    }
  }

  void free_one() {
    if (blocks_.empty()) {
      return;
    }
    const auto one = any();
    check(one->first, one->second, one->second.bytes);
    tarn_free(one->first);
    blocks_.erase(one);
  }

  void free_elsewhere() {
    std::vector<void*> gone;
    for (int count = 0; count < 20 && !blocks_.empty(); ++count) {
      const auto one = any();
      check(one->first, one->second, one->second.bytes);
      gone.push_back(one->first);
      blocks_.erase(one);
    }
    std::thread([&gone] {
      for (void* const each : gone) {
        tarn_free(each);
      }
    }).join();
  }

  void resize() {
    if (blocks_.empty()) {
      return;
    }
    const auto one = any();
    const live_block before = one->second;
    const std::size_t bytes = any_size() + 1;
    unsigned char* const start = one->first;
    blocks_.erase(one);
    auto* const made = static_cast<unsigned char*>(tarn_realloc(start, bytes));
    ASSERT_NE(made, nullptr);
    check(made, before, before.bytes < bytes ? before.bytes : bytes);
    enter(made, bytes, 16, tarn::owner_of(made) == &lane_);
  }

  void release() {
    lane_.release();
    std::erase_if(blocks_, [](const auto& each) { return each.second.of_lane; });
  }

  std::minstd_rand random_;
  tarn::heap lane_;
  std::map<unsigned char*, live_block> blocks_;
};

class sequences : public testing::TestWithParam<std::uint32_t> {};

TEST_P(sequences, keep_every_byte) { sequence(GetParam()).play(4000); }

INSTANTIATE_TEST_SUITE_P(seeds, sequences, testing::Range(1u, 13u));

}  // namespace
