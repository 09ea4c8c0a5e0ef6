// Tests the cost model as it is kept in a file.
#include "analyse/costs.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/analyse/recordings.hpp"

namespace tarn::analyse {
namespace {

TEST(costs, are_read_as_written) {
  costs made = simple_prices();
  made.pairs[static_cast<std::size_t>(server::recycled)][static_cast<std::size_t>(pattern::met)].fill(costs::none);
  const costs read = costs_from(nlohmann::json::parse(to_json(made).dump()));
  EXPECT_EQ(read.pairs, made.pairs);
  EXPECT_TRUE(read.facts.same(made.facts));
  EXPECT_EQ(read.facts.date, made.facts.date);
  EXPECT_EQ(read.copy_ns.high, made.copy_ns.high);
  EXPECT_EQ(read.calls.stretch, made.calls.stretch);
  EXPECT_EQ(read.calls.buffered_ns, made.calls.buffered_ns);
  EXPECT_EQ(read.calls.remembered_ns, made.calls.remembered_ns);
  EXPECT_EQ(read.calls.plain_ns, made.calls.plain_ns);
  EXPECT_EQ(read.recorder_ns, made.recorder_ns);
  EXPECT_EQ(read.recorder_frame, made.recorder_frame);
  EXPECT_EQ(read.sampler_ns, made.sampler_ns);
}

TEST(costs, ends_measured_in_the_wrong_order_are_put_right) {
  nlohmann::json text = to_json(simple_prices());
  text["copy_ns_per_byte"] = {0.0706, 0.0312};
  const costs read = costs_from(text);
  EXPECT_DOUBLE_EQ(read.copy_ns.low, 0.0312);
  EXPECT_DOUBLE_EQ(read.copy_ns.high, 0.0706);
}

TEST(costs, of_another_machine_library_or_build_do_not_hold) {
  const cost_facts here = simple_prices().facts;
  for (auto change : {&cost_facts::machine, &cost_facts::library, &cost_facts::tarn}) {
    cost_facts other = here;
    other.*change += "?";
    EXPECT_FALSE(here.same(other));
  }
  cost_facts later = here;
  later.date = "tomorrow";
  EXPECT_TRUE(here.same(later));
}

TEST(costs, that_are_incomplete_are_refused) {
  nlohmann::json text = to_json(simple_prices());
  for (const char* part : {"machine", "pair_ns", "copy_ns_per_byte", "calls", "recorder_ns"}) {
    nlohmann::json broken = text;
    broken.erase(part);
    EXPECT_THROW(costs_from(broken), nlohmann::json::exception) << part;
  }
  text["pair_ns"]["malloc"]["soon"] = "much";
  EXPECT_THROW(costs_from(text), nlohmann::json::exception);
}

TEST(costs, of_a_pattern_that_a_server_has_not_are_those_of_the_nearest) {
  costs made = simple_prices();
  const auto by = static_cast<std::size_t>(server::arena);
  made.pairs[by][static_cast<std::size_t>(pattern::met)].fill(costs::none);
  made.pairs[by][static_cast<std::size_t>(pattern::handed)].fill(costs::none);
  EXPECT_EQ(made.pair(server::arena, pattern::met, 3), made.pair(server::arena, pattern::cold, 3));
  made.pairs[by][static_cast<std::size_t>(pattern::cold)].fill(costs::none);
  made.pairs[by][static_cast<std::size_t>(pattern::burst)].fill(costs::none);
  EXPECT_EQ(made.pair(server::arena, pattern::cold, 3), made.pair(server::arena, pattern::busy, 3));
}

}  // namespace
}  // namespace tarn::analyse
