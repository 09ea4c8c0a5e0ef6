#include <tarn/format_statistics.hpp>

#include <gmock/gmock.h>

#include <string>

#include <nlohmann/json.hpp>

#include <tarn/heap.hpp>
#include <tarn/pool.hpp>

namespace {

using tarn::format_statistics;
using tarn::statistics_form;
using testing::HasSubstr;

constexpr tarn::pool_statistics numbered = {
    .in_use = 3, .peak_in_use = 10, .capacity = 16, .chunks = 2, .chunk_bytes = 900, .upstream_calls = 3};

TEST(format_statistics, is_text_for_people) {
  EXPECT_EQ(format_statistics({{"no\ndes", numbered}}),
            "pool \"no\\x0ades\"\n"
            "  in_use                              3\n"
            "  peak_in_use                        10\n"
            "  capacity                           16\n"
            "  chunks                              2\n"
            "  chunk_bytes                       900\n"
            "  upstream_calls                      3\n"
            "  next time: {.first_chunk_blocks = 16, .limit_blocks = 20}\n");
}

TEST(format_statistics, is_json_for_programs) {
  const auto read = nlohmann::json::parse(format_statistics({{"a\"b", numbered}, {"", {}}}, statistics_form::json));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0]["pool"], "a\"b");
  EXPECT_EQ(read[0]["capacity"], 16);
  EXPECT_EQ(read[0]["advice"]["limit_blocks"], 20);
  EXPECT_EQ(read[1]["advice"]["first_chunk_blocks"], 0);
  EXPECT_EQ(nlohmann::json::parse(format_statistics(std::span<const tarn::named_statistics<tarn::pool_statistics>>(),
                                                    statistics_form::json)),
            nlohmann::json::array());
}

TEST(format_statistics, is_openmetrics_for_scrapers) {
  const std::string text = format_statistics({{"one", numbered}, {"t\"wo\n", numbered}}, statistics_form::openmetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE tarn_pool_in_use gauge\n"
                              "tarn_pool_in_use{pool=\"one\",row=\"0\"} 3\n"
                              "tarn_pool_in_use{pool=\"t_wo_\",row=\"1\"} 3\n"
                              "# TYPE tarn_pool_peak_in_use gauge\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE tarn_pool_upstream_calls counter\n"
                              "tarn_pool_upstream_calls_total{pool=\"one\",row=\"0\"} 3\n"));
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(format_statistics, shows_heaps_and_arenas) {
  tarn::heap lane({.name = "lane", .counts_calls = true});
  static_cast<void>(lane.allocate(100));
  EXPECT_THAT(format_statistics({{"lane", lane.statistics()}}), HasSubstr("  allocated_blocks                    1\n"));
  tarn::arena request;
  static_cast<void>(request.allocate(100));
  const auto read =
      nlohmann::json::parse(format_statistics({{"request", request.statistics()}}, statistics_form::json));
  EXPECT_EQ(read[0]["arena"], "request");
  EXPECT_GE(read[0]["used_bytes"], 100);
}

TEST(format_statistics, advice_holds) {
  tarn::pool<long> first;
  for (int round = 0; round < 1000; ++round) static_cast<void>(first.allocate());
  tarn::pool<long> second(tarn::advice_for(first.statistics()));
  for (int round = 0; round < 1000; ++round) static_cast<void>(second.allocate());
  EXPECT_GT(first.statistics().chunks, 1u);
  EXPECT_EQ(second.statistics().chunks, 1u);
}

// The peak is known by magazines only: it may be 128 for 200 blocks.
TEST(format_statistics, advice_holds_for_every_peak) {
  for (int peak = 1; peak < 600; peak += 7) {
    tarn::pool<long> first;
    for (int round = 0; round < peak; ++round) static_cast<void>(first.allocate());
    first.clear();
    const tarn::pool_options advised = tarn::advice_for(first.statistics());
    EXPECT_GE(advised.first_chunk_blocks, static_cast<std::size_t>(peak));
    tarn::pool<long> second(advised);
    for (int round = 0; round < peak; ++round) static_cast<void>(second.allocate());  // throws at the limit
    EXPECT_EQ(second.statistics().chunks, 1U);
  }
}

}  // namespace
