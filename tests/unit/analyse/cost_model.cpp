// Tests the cost model as it is kept in a file.
#include "profiler/predict/cost_model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "profiler/predict/pairs.hpp"
#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

TEST(costs, are_read_as_written) {
  cost_model costs = simple_costs();
  costs.pairs[static_cast<std::size_t>(allocator_kind::recycled)][static_cast<std::size_t>(lifetime_pattern::met)].fill(
      cost_model::unmeasured);
  const cost_model read = cost_model_from(nlohmann::json::parse(to_json(costs).dump()));
  EXPECT_EQ(read.pairs, costs.pairs);
  EXPECT_TRUE(read.facts.is_comparable(costs.facts));
  EXPECT_EQ(read.facts.date, costs.facts.date);
  EXPECT_EQ(read.copy_ns.high, costs.copy_ns.high);
  EXPECT_EQ(read.calls.slowdown, costs.calls.slowdown);
  EXPECT_EQ(read.calls.buffered_ns, costs.calls.buffered_ns);
  EXPECT_EQ(read.calls.cached_ns, costs.calls.cached_ns);
  EXPECT_EQ(read.calls.plain_ns, costs.calls.plain_ns);
}

TEST(costs, ends_measured_in_the_wrong_order_are_put_right) {
  nlohmann::json text = to_json(simple_costs());
  text["copy_ns_per_byte"] = {0.0706, 0.0312};
  const cost_model read = cost_model_from(text);
  EXPECT_DOUBLE_EQ(read.copy_ns.low, 0.0312);
  EXPECT_DOUBLE_EQ(read.copy_ns.high, 0.0706);
}

TEST(costs, of_another_machine_library_or_build_do_not_hold) {
  const cost_facts current = simple_costs().facts;
  for (auto change : {&cost_facts::machine, &cost_facts::library, &cost_facts::tarn}) {
    cost_facts second = current;
    second.*change += "?";
    EXPECT_FALSE(current.is_comparable(second));
  }
  cost_facts later = current;
  later.date = "tomorrow";
  EXPECT_TRUE(current.is_comparable(later));
}

TEST(costs, that_are_incomplete_are_refused) {
  nlohmann::json text = to_json(simple_costs());
  for (const char* part : {"machine", "pair_ns", "copy_ns_per_byte", "calls"}) {
    nlohmann::json broken = text;
    broken.erase(part);
    EXPECT_THROW(cost_model_from(broken), nlohmann::json::exception) << part;
  }
  text["pair_ns"]["malloc"]["soon"] = "much";
  EXPECT_THROW(cost_model_from(text), nlohmann::json::exception);
}

TEST(costs, of_a_pattern_that_a_server_has_not_are_those_of_the_nearest) {
  cost_model costs = simple_costs();
  const auto allocator = static_cast<std::size_t>(allocator_kind::arena);
  costs.pairs[allocator][static_cast<std::size_t>(lifetime_pattern::met)].fill(cost_model::unmeasured);
  costs.pairs[allocator][static_cast<std::size_t>(lifetime_pattern::handed)].fill(cost_model::unmeasured);
  EXPECT_EQ(costs.pair_ns(allocator_kind::arena, lifetime_pattern::met, 3),
            costs.pair_ns(allocator_kind::arena, lifetime_pattern::cold, 3));
  costs.pairs[allocator][static_cast<std::size_t>(lifetime_pattern::cold)].fill(cost_model::unmeasured);
  costs.pairs[allocator][static_cast<std::size_t>(lifetime_pattern::burst)].fill(cost_model::unmeasured);
  EXPECT_EQ(costs.pair_ns(allocator_kind::arena, lifetime_pattern::cold, 3),
            costs.pair_ns(allocator_kind::arena, lifetime_pattern::busy, 3));
}

}  // namespace
// Counts its requests by the blocks in use.
struct counted_blocks {
  void* get() {
    ++requests.at(static_cast<std::size_t>(in_use++));
    return block.data();
  }
  void put(void*) { --in_use; }
  void lap() const {}
  std::array<char, 8> block{};
  std::array<int, 16> requests{};
  int in_use = 0;
};

TEST(pairs, are_timed_at_the_end_of_a_heap_and_in_a_hole) {
  constexpr std::size_t neighbours = 10;
  counted_blocks at_end, in_hole;
  EXPECT_GE(command::soon_at_end_ns(at_end, neighbours), 0);
  EXPECT_GT(at_end.requests[neighbours], 100);  // while all others are in use
  EXPECT_EQ(at_end.requests[neighbours - 1], 1);
  EXPECT_EQ(at_end.in_use, 0);
  EXPECT_GE(command::soon_in_hole_ns(in_hole, neighbours), 0);
  EXPECT_GT(in_hole.requests[1], 100);  // while the last one alone holds the end
  EXPECT_EQ(in_hole.requests[neighbours], 1);
  EXPECT_EQ(in_hole.in_use, 0);
}

TEST(pairs, have_the_median_of_what_other_work_adds) {
  EXPECT_EQ(command::median_addition({3, 50, 1}), 3);
  EXPECT_EQ(command::median_addition({-3, -50, 1}), 0);  // a machine that has become faster meanwhile
}

}  // namespace tarn::analyse
