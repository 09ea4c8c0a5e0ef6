// Compares random operations on an arena with a simple oracle: a list of blocks in order of allocation, truncated
// when the arena is rewound. Every live block keeps its bytes, overlaps no other, and is aligned; every live object
// is destroyed once, in order.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <tarn/arena.hpp>

#include "support/upstream.hpp"

namespace {

class sequence {
 public:
  sequence(std::uint32_t seed, const tarn::arena_options& options, std::span<std::byte> first)
      : random_(seed), arena_(first, options) {}

  void play(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      switch (random_() % 32) {
        case 0:
        case 1:
        case 2: marks_.push_back({arena_.mark(), order_.size(), objects_.size()}); break;
        case 3:
        case 4: rewind(); break;
        case 5:
          if (random_() % 8 == 0) reset();
          break;
        case 6:
        case 7:
        case 8: extend(); break;
        case 9:
        case 10: take_back(); break;
        case 11:
        case 12: create(); break;
        default: allocate(); break;
      }
      if (step % 64 == 0) {
        ASSERT_TRUE(arena_.is_valid());
      }
    }
    reset();
  }

 private:
  struct block {
    unsigned char* start;
    std::size_t bytes, alignment;
    unsigned char fill;
  };
  struct checkpoint {
    tarn::arena_mark mark;
    std::size_t blocks, objects;
  };
  struct object {
    object(sequence& owner_, std::size_t number_) : owner(owner_), number(number_) {}
    ~object() {
      EXPECT_EQ(owner.objects_.empty() ? -1 : static_cast<long>(owner.objects_.back()), static_cast<long>(number));
      if (!owner.objects_.empty()) owner.objects_.pop_back();
    }
    sequence& owner;
    std::size_t number;
  };

  std::size_t any_size() {
    switch (random_() % 16) {
      case 0: return random_() % 20'000;
      case 1: return random_() % 2'000;
      default: return random_() % 200;
    }
  }
  std::size_t any_alignment() { return random_() % 4 == 0 ? std::size_t{1} << (random_() % 10) : 8; }

  void allocate() {
    const std::size_t bytes = any_size();
    const std::size_t alignment = any_alignment();
    enter(arena_.allocate(bytes, alignment), bytes, alignment);
  }

  void enter(void* block_start, std::size_t bytes, std::size_t alignment) {
    auto* const start = static_cast<unsigned char*>(block_start);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(start) % alignment, 0u);
    if (bytes != 0) {  // others may share an address
      const auto next = live_.lower_bound(start);
      ASSERT_TRUE(next == live_.end() || start + bytes <= next->first);
      ASSERT_TRUE(next == live_.begin() || std::prev(next)->first + std::prev(next)->second <= start);
      live_[start] = bytes;
    }
    const auto fill = static_cast<unsigned char>(random_());
    std::memset(start, fill, bytes);
    order_.push_back({start, bytes, alignment, fill});
  }

  void leave(std::size_t first) {
    for (; order_.size() > first; order_.pop_back()) {
      const block& last = order_.back();
      for (std::size_t index = 0; index < last.bytes; ++index) {
        ASSERT_EQ(last.start[index], last.fill) << "byte " << index << " of " << last.bytes;
      }
      if (last.bytes != 0) live_.erase(last.start);
    }
  }

  void create() {
    objects_.push_back(next_object_);
    arena_.create<object>(*this, next_object_++);
  }

  // Picks the newest block, or one that may not be the newest and must then stay as it is.
  void extend() {
    if (order_.empty()) return;
    const std::size_t position = random_() % 3 == 0 ? random_() % order_.size() : order_.size() - 1;
    const block before = order_[position];
    const std::size_t bytes = any_size();
    if (!arena_.extend(before.start, before.bytes, bytes)) return;
    for (std::size_t index = 0; index < std::min(bytes, before.bytes); ++index) {
      ASSERT_EQ(before.start[index], before.fill);
    }
    if (before.bytes != 0) live_.erase(before.start);
    enter(before.start, bytes, before.alignment);
    order_[position] = order_.back();
    order_.pop_back();
  }

  void take_back() {
    if (order_.empty() || (!marks_.empty() && marks_.back().blocks == order_.size())) return;
    const block newest = order_.back();
    leave(order_.size() - 1);
    arena_.deallocate(newest.start, newest.bytes, newest.alignment);
  }

  void rewind() {
    if (marks_.empty()) return;
    const std::size_t skipped_marks = random_() % 4 == 0 ? random_() % marks_.size() : 0;
    marks_.resize(marks_.size() - skipped_marks);
    const checkpoint goal = marks_.back();
    marks_.pop_back();
    leave(goal.blocks);
    arena_.rewind(goal.mark);
    ASSERT_EQ(objects_.size(), goal.objects);
  }

  void reset() {
    leave(0);
    marks_.clear();
    if (random_() % 4 == 0) {
      arena_.release();
      EXPECT_EQ(arena_.statistics().chunks, 0u);
    } else {
      arena_.reset();
    }
    EXPECT_TRUE(objects_.empty());
    EXPECT_EQ(arena_.statistics().used_bytes, 0u);
    ASSERT_TRUE(arena_.is_valid());
  }

  std::minstd_rand random_;
  std::vector<block> order_;
  std::map<unsigned char*, std::size_t> live_;
  std::vector<checkpoint> marks_;
  std::vector<std::size_t> objects_;
  std::size_t next_object_ = 0;
  tarn::arena arena_;  // last, because destroying it destroys objects that use the others
};

class arena_sequences : public testing::TestWithParam<std::uint32_t> {};

TEST_P(arena_sequences, keep_every_byte) {
  support::upstream up;
  std::vector<std::byte> first(GetParam() % 3 == 0 ? 3000 : 0);
  sequence(GetParam(),
           {.upstream = &up,
            .first_chunk = GetParam() % 2 == 0 ? 300u : 4096u,
            .spare_limit = GetParam() % 5 == 0 ? 8192u : 0u},
           first)
      .play(6000);
}

INSTANTIATE_TEST_SUITE_P(seeds, arena_sequences, testing::Range(1u, 13u));

}  // namespace
