// Tests the cost model as it is kept in a file.
#include "profiler/predict/cost_model.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
}  // namespace tarn::analyse
