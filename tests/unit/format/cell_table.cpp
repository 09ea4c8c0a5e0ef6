#include "profiler/format/cell_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tarn::format {
namespace {

using cell_counts = std::array<std::uint64_t, 2>;
using table = cell_table<std::uint32_t, cell_counts>;

std::vector<std::pair<std::uint32_t, cell_counts>> listed(const table& cells) {
  std::vector<std::pair<std::uint32_t, cell_counts>> list;
  for (const auto& [key, value] : cells) list.emplace_back(key, value);
  return list;
}

TEST(cell_table, has_the_cells_of_a_map_in_the_same_order) {
  std::mt19937 random(1);
  std::map<std::uint32_t, cell_counts> expected;
  table cells;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    const std::uint32_t key = random() % 4096;
    if (random() % 4 == 0) {
      expected.erase(key);
      cells.erase(key);
    } else {
      ++expected[key][step % 2];
      ++cells[key][step % 2];
    }
    ASSERT_EQ(cells.size(), expected.size());
    ASSERT_TRUE(step % 100 != 0 || cells.is_valid());
  }
  EXPECT_EQ(listed(cells), (std::vector<std::pair<std::uint32_t, cell_counts>>(expected.begin(), expected.end())));
  for (std::uint32_t key = 0; key < 4096; ++key) {
    const auto cell = cells.find(key);
    ASSERT_EQ(cell != cells.end(), expected.contains(key));
    if (cell != cells.end()) {
      ASSERT_EQ(cell->second, expected[key]);
    }
  }
}

TEST(cell_table, is_equal_to_one_that_grew_in_another_order) {
  table up, down;
  for (std::uint32_t key = 0; key < 2000; ++key) up[key] = {key, 1};
  for (std::uint32_t key = 2000; key-- > 0;) down[key] = {key, 1};
  EXPECT_TRUE(up.is_valid());
  EXPECT_TRUE(down.is_valid());
  EXPECT_EQ(up, down);
  down[1000] = {0, 0};
  EXPECT_NE(up, down);
  erase_if(down, [](const auto& cell) { return cell.first % 2 == 0; });
  EXPECT_EQ(down.size(), 1000U);
  EXPECT_FALSE(down.contains(1000));
  EXPECT_EQ(down.counts_of(1001), (cell_counts{1001, 1}));
}

TEST(cell_table, is_empty_once_each_cell_is_erased) {
  table cells = {{3, {1, 0}}, {1, {2, 0}}};
  EXPECT_EQ(cells.begin()->first, 1U);
  cells.emplace(3, {5, 5});
  EXPECT_EQ(cells.counts_of(3), (cell_counts{1, 0})) << "it was there";
  cells.erase(1), cells.erase(2), cells.erase(3);
  EXPECT_TRUE(cells.empty());
  EXPECT_EQ(cells.begin(), cells.end());
  EXPECT_THROW(cells.counts_of(1), std::out_of_range);
}

TEST(cell_table, is_empty_after_it_has_been_moved) {
  table cells = {{1, {1, 1}}};
  const table others = std::move(cells);
  EXPECT_EQ(others.size(), 1U);
  EXPECT_TRUE(cells.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  cells[2] = {2, 2};
  EXPECT_TRUE(cells.is_valid());
}

}  // namespace
}  // namespace tarn::format
