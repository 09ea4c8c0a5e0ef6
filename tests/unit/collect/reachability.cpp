// Tests which blocks of a made memory are reached.
#include "profiler/collect/reachability.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

namespace tarn::command {
namespace {

// Memory of 1 MiB from 1 MiB on, in which blocks of 64 bytes have their number as their site.
class made_memory : public testing::Test {
 protected:
  static constexpr std::uint64_t base = 1 << 20;
  static constexpr std::uint64_t root = base, heap = base + 4096;

  std::uint64_t block(std::uint32_t number) {
    const std::uint64_t address = heap + 64 * number;
    blocks_.push_back({address, 64, number});
    return address;
  }
  void point(std::uint64_t address, std::uint64_t target) { memory_[(address - base) / 8] = target; }

  std::map<std::uint32_t, format::leak_facts> lost(const std::vector<address_range>& ranges = {{root, root + 64}},
                                                   const std::vector<std::uint64_t>& registers = {}) {
    return find_lost(blocks_, {ranges, registers}, [&](std::uint64_t address, void* target, std::size_t bytes) {
      if (address < base || address + bytes > base + memory_.size() * 8) return false;
      std::memcpy(target, reinterpret_cast<const char*>(memory_.data()) + (address - base), bytes);
      return true;
    });
  }

  std::vector<std::uint64_t> memory_ = std::vector<std::uint64_t>(1 << 17);
  std::vector<heap_block> blocks_;
};

TEST_F(made_memory, a_list_that_a_root_holds_is_reached) {
  const std::uint64_t first = block(1), second = block(2), third = block(3);
  point(root + 8, first), point(first + 16, second), point(second, third);
  EXPECT_TRUE(lost().empty());
  point(root + 8, first + 63);
  EXPECT_TRUE(lost().empty()) << "a pointer to any byte";
  point(root + 8, 0);
  EXPECT_EQ(lost().size(), 3U);
  EXPECT_TRUE(lost({}, {first}).empty()) << "a register";
}

TEST_F(made_memory, a_list_that_is_lost_has_one_first_block) {
  const std::uint64_t first = block(1), second = block(2);
  point(second, first);
  const auto sites = lost();
  EXPECT_EQ(sites.at(2), (format::leak_facts{1, 64, 1}));
  EXPECT_EQ(sites.at(1), (format::leak_facts{1, 64, 0})) << "though it was looked at before";
}

TEST_F(made_memory, a_lost_circle_has_one_first_block) {
  const std::uint64_t first = block(1), second = block(2), third = block(3);
  point(first, second), point(second, third), point(third, first);
  std::uint64_t first_blocks = 0;
  for (const auto& [site, facts] : lost()) first_blocks += facts.first_blocks;
  EXPECT_EQ(first_blocks, 1U);
}

TEST_F(made_memory, a_block_in_a_root_range_is_no_root) {
  const std::uint64_t first = block(1), second = block(2);
  point(second, first);
  EXPECT_EQ(lost({{heap, heap + 4096}}).size(), 2U);
  point(heap + 512, second);  // beside the blocks
  EXPECT_TRUE(lost({{heap, heap + 4096}}).empty());
}

TEST_F(made_memory, what_lies_beside_a_block_does_not_reach_it) {
  const std::uint64_t first = block(1);
  for (const std::uint64_t word : {first - 1, first + 64, std::uint64_t{0}, ~std::uint64_t{0}}) {
    point(root, word);
    EXPECT_EQ(lost().size(), 1U) << word;
  }
  EXPECT_TRUE(lost({{heap + 4096, heap + 8192}, {0, 64}}).contains(1)) << "what cannot be read reaches nothing";
}

TEST_F(made_memory, a_block_of_no_bytes_can_be_reached) {
  blocks_.push_back({heap, 0, 1});
  EXPECT_EQ(lost().at(1), (format::leak_facts{1, 0, 1}));
  point(root, heap);
  EXPECT_TRUE(lost().empty());
}

}  // namespace
}  // namespace tarn::command
