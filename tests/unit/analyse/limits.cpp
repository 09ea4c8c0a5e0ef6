// Tests limits as text, and which reports exceed them.
#include "profiler/advise/limits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace tarn::analyse {
namespace {

location_sums place_of(const char* function, const char* file, heap_category category, std::uint64_t allocations) {
  location_sums sums;
  sums.function = function;
  sums.file = file;
  sums.category = category;
  sums.allocations = allocations;
  sums.bytes = allocations * 100;
  sums.copied = allocations * 10;
  sums.remote_frees = category == heap_category::cross_thread ? allocations : 0;
  sums.peak_bytes = allocations * 50;
  sums.end_bytes = category == heap_category::kept ? sums.bytes : 0;
  sums.growth = static_cast<double>(allocations) / 4;
  return sums;
}

const located_sums& places() {
  static const located_sums sums = [] {
    located_sums located;
    for (const location_sums& location :
         {place_of("ns::parse", "/src/parse.cpp", heap_category::same_thread, 500),
          place_of("ns::reader<int>::parse<char>", "/src/reader.cpp", heap_category::same_thread, 200),
          place_of("ns::send", "/src/send.cpp", heap_category::cross_thread, 40),
          place_of("sparse", "/src/sparse.cpp", heap_category::kept, 3)}) {
      located.locations.push_back(location);
      located.by_category[static_cast<std::size_t>(location.category)].push_back(location);
    }
    return located;
  }();
  return sums;
}

limit_check checked(const limit& limit, double requests = 0) {
  totals whole;
  whole.heap_share = 0.08;
  whole.lock_waits = 0.02;
  whole.system_calls = 900;
  whole.violations = 3;
  return check_limits({limit}, places(), whole, requests).at(0);
}

bool is_broken(const char* expression, double requests = 0) {
  return checked(limit_of(expression), requests).is_broken();
}

double value(const std::string& expression, double requests = 0) {
  return checked(limit_of(expression, 0), requests).value;
}

TEST(limits, a_limit_holds_up_to_its_number) {
  EXPECT_FALSE(is_broken("same-thread allocations <= 700"));
  const limit_check check = checked(limit_of("same-thread allocations <= 699"));
  EXPECT_TRUE(check.is_broken());
  EXPECT_DOUBLE_EQ(check.value, 700);
  EXPECT_EQ(check.checked.text, "same-thread allocations");
  EXPECT_EQ(check.largest->function, "ns::parse");
}

TEST(limits, each_metric_adds_up_its_own) {
  EXPECT_DOUBLE_EQ(value("allocations"), 743);
  EXPECT_DOUBLE_EQ(value("bytes"), 74'300);
  EXPECT_DOUBLE_EQ(value("copied bytes"), 7'430);
  EXPECT_DOUBLE_EQ(value("remote frees"), 40);
  EXPECT_DOUBLE_EQ(value("sites"), 4);
  EXPECT_DOUBLE_EQ(value("cross-thread bytes"), 4'000);
  EXPECT_DOUBLE_EQ(value("start-up allocations"), 0);
  EXPECT_DOUBLE_EQ(value("heap share"), 0.08);
  EXPECT_DOUBLE_EQ(value("lock waits"), 0.02);
  EXPECT_DOUBLE_EQ(value("system calls"), 900);
  EXPECT_DOUBLE_EQ(value("violations"), 3);
}

TEST(limits, an_estimate_breaks_its_limit_by_more_than_its_error) {
  totals whole;
  whole.system_calls = 900;
  whole.system_call_error = 0.1;
  const auto check = [&](double maximum) {
    return check_limits({limit_of("system calls", maximum)}, places(), whole, 0).at(0);
  };
  EXPECT_FALSE(check(811).is_broken());
  EXPECT_TRUE(check(811).is_open());
  EXPECT_FALSE(check(991).is_open()) << "it holds";
  EXPECT_FALSE(check(809).is_open());
  EXPECT_TRUE(check(809).is_broken());
  EXPECT_DOUBLE_EQ(check(809).value, 900) << "what a report says";
}

TEST(limits, samples_leave_a_limit_open_that_lies_in_their_range) {
  totals whole;
  whole.interval = 512 * 1024;
  whole.allocations = 1000;
  whole.bytes = 100'000'000;
  whole.peak_range = {10'000, 5e6};
  whole.end_range = {0, 3 * whole.interval};
  const auto check = [&](const char* expression) {
    return check_limits({limit_of(expression)}, places(), whole, 0).at(0);
  };
  EXPECT_TRUE(check("never freed <= 1M").is_open()) << "no sample was taken of what it may have left";
  EXPECT_FALSE(check("never freed <= 1M").is_broken());
  EXPECT_FALSE(check("never freed <= 1.6M").is_open());
  EXPECT_TRUE(check("peak <= 9999").is_broken());
  EXPECT_TRUE(check("peak <= 37k").is_open());
  EXPECT_TRUE(check("copied bytes at function nothing <= 1").is_open()) << "it has no sample";
  EXPECT_TRUE(check("allocations at function nothing <= 999").is_open());
  EXPECT_FALSE(check("allocations at function nothing <= 1000").is_open()) << "there are no more";
  EXPECT_TRUE(check("allocations <= 999").is_broken()) << "the total is exact";
  EXPECT_FALSE(check("allocations <= 1000").is_open());
  EXPECT_DOUBLE_EQ(check("bytes <= 1").value, 100'000'000);
}

// Of 1,000 samples, 200 have parse on their stack.
limit_check checked_of_processor(const char* expression, double requests = 0) {
  totals whole;
  whole.cpu_seconds = {3.8, 4.2};
  whole.samples = 1000;
  whole.share_at = [&](const limit& limit) {
    const std::uint64_t samples = is_meant(limit, "ns::parse<int>", "/src/parse.cpp") ? 200 : 0;
    return share_estimate{static_cast<double>(samples) / 1000, share_error(samples, whole.samples)};
  };
  return check_limits({limit_of(expression)}, {}, whole, requests).at(0);
}

TEST(limits, the_share_of_a_function_is_within_the_error_of_its_samples) {
  const limit_check check = checked_of_processor("cpu share at function parse <= 20 %");
  EXPECT_NEAR(check.value, 0.2, 1e-9);
  EXPECT_NEAR(check.range.low, 0.175, 0.001);
  EXPECT_NEAR(check.range.high, 0.225, 0.001);
  EXPECT_TRUE(check.is_open());
  EXPECT_TRUE(checked_of_processor("cpu share at function parse <= 17 %").is_broken());
  EXPECT_FALSE(checked_of_processor("cpu share at file parse.cpp <= 23 %").is_open());
  EXPECT_TRUE(checked_of_processor("cpu share at function send <= 0 %").is_open()) << "one sample less is not seen";
  EXPECT_FALSE(checked_of_processor("cpu share at function send <= 0.2 %").is_open());
}

TEST(limits, cpu_time_is_that_of_the_program_or_of_a_place) {
  EXPECT_TRUE(checked_of_processor("cpu time <= 3.7 s").is_broken());
  EXPECT_TRUE(checked_of_processor("cpu time <= 4000 ms").is_open());
  EXPECT_FALSE(checked_of_processor("cpu time <= 43 ms per request", 100).is_open());
  EXPECT_TRUE(checked_of_processor("cpu time at function parse <= 600 ms").is_broken());
  EXPECT_TRUE(checked_of_processor("cpu time at function parse <= 800 ms").is_open());
  EXPECT_FALSE(checked_of_processor("cpu time at function parse <= 1 s").is_open());
}

TEST(limits, no_sample_decides_nothing) {
  totals whole;
  whole.cpu_seconds = {0.001, 0.002};
  const auto check = [&](const char* expression) { return check_limits({limit_of(expression)}, {}, whole, 0).at(0); };
  EXPECT_TRUE(check("cpu share at function parse <= 1 %").is_open()) << "a run that is too short to be sampled";
  EXPECT_TRUE(check("cpu time at function parse <= 1 ms").is_open());
  EXPECT_FALSE(check("cpu time at function parse <= 2 ms").is_open()) << "the program took no more";
}

TEST(limits, of_the_processor_have_no_category_and_a_share_needs_a_place) {
  for (const char* const wrong :
       {"kept cpu time <= 1 s", "cpu share <= 5 %", "cpu share at function f <= 1 % per request"})
    EXPECT_THROW(limit_of(wrong), wrong_limit) << wrong;
}

TEST(limits, memory_is_limited_by_moment_and_place) {
  EXPECT_DOUBLE_EQ(value("peak"), 743 * 50);
  EXPECT_DOUBLE_EQ(value("peak at function parse"), 700 * 50);
  EXPECT_DOUBLE_EQ(value("in use at the end"), 300);
  EXPECT_DOUBLE_EQ(value("never freed at file sparse.cpp"), 300);
  EXPECT_DOUBLE_EQ(value("never freed at file send.cpp"), 0);
  EXPECT_DOUBLE_EQ(value("never freed per request", 100), 3);
  EXPECT_DOUBLE_EQ(value("kept growth"), 0.75);
  EXPECT_EQ(checked(limit_of("peak <= 1")).largest->function, "ns::parse");
  EXPECT_EQ(checked(limit_of("never freed <= 1")).largest->function, "sparse");
}

TEST(limits, a_function_is_named_with_or_without_its_scopes) {
  EXPECT_DOUBLE_EQ(value("allocations at function parse"), 700) << "also those of templates; not sparse";
  EXPECT_DOUBLE_EQ(value("allocations at function ns::parse"), 500);
  EXPECT_DOUBLE_EQ(value("allocations at function nothing"), 0);
  EXPECT_DOUBLE_EQ(value("allocations at file parse.cpp"), 500) << "not sparse.cpp";
  EXPECT_DOUBLE_EQ(value("allocations at file /src/sparse.cpp"), 3);
}

TEST(limits, a_limit_knows_its_function) {
  const limit at_parse = limit_of("allocations at function parse <= 3");
  EXPECT_TRUE(is_at(at_parse, "ns::reader<int>::parse<char>"));
  EXPECT_FALSE(is_at(at_parse, "sparse"));
}

TEST(limits, per_request_divides) {
  EXPECT_DOUBLE_EQ(value("same-thread allocations per request", 100), 7);
  EXPECT_DOUBLE_EQ(value("system calls per request", 100), 9);
  EXPECT_THROW(limit_of("lock waits per request <= 1 %"), wrong_limit);
  EXPECT_THROW(limit_of("system calls at function parse <= 1"), wrong_limit);
  EXPECT_FALSE(is_broken("same-thread allocations <= 7 per request", 100));
  EXPECT_TRUE(is_broken("same-thread allocations <= 6.9 per request", 100));
  EXPECT_THROW(is_broken("allocations <= 3 per request"), wrong_limit) << "of how many?";
}

TEST(limits, numbers_have_units) {
  EXPECT_DOUBLE_EQ(limit_of("bytes <= 2.5M").maximum, 2.5e6);
  EXPECT_DOUBLE_EQ(limit_of("bytes<=3k").maximum, 3000);
  EXPECT_DOUBLE_EQ(limit_of("heap share <= 5 %").maximum, 0.05);
  EXPECT_DOUBLE_EQ(limit_of("heap share <= 5%").maximum, 0.05);
  EXPECT_TRUE(is_broken("heap share <= 7.9 %"));
  EXPECT_FALSE(is_broken("heap share <= 8.1 %"));
  EXPECT_DOUBLE_EQ(limit_of("peak <= 1.5 KiB").maximum, 1536);
  EXPECT_DOUBLE_EQ(limit_of("peak <= 64MiB").maximum, 64 * 1048576.0);
}

TEST(limits, a_number_alone_is_one_of_bytes_or_counts) {
  EXPECT_DOUBLE_EQ(limit_of("peak", 2.5e6).maximum, 2.5e6);
  EXPECT_DOUBLE_EQ(limit_of("allocations", 0).maximum, 0);
  EXPECT_DOUBLE_EQ(limit_of("heap share", 0).maximum, 0);
  for (const auto& [subject, number] :
       {std::pair{"heap share", 1.0}, std::pair{"cpu time", 2.0}, std::pair{"allocations", -4.0},
        std::pair{"allocations", std::nan("")}, std::pair{"peak", HUGE_VAL}})
    EXPECT_THROW(limit_of(subject, number), wrong_limit) << subject << number;
}

TEST(limits, what_cannot_be_a_limit_is_refused) {
  for (const char* const wrong : {"",
                                  "<=",
                                  "allocations",
                                  "allocations <= ",
                                  "allocations <= many",
                                  "allocations <= -1",
                                  "allocations <= 3 apples",
                                  "same-thread <= 3",
                                  "cross-thread same-thread allocations <= 1",
                                  "allocations at <= 3",
                                  "allocations at function <= 3",
                                  "allocations at moon parse <= 3",
                                  "same-thread heap share <= 3 %",
                                  "heap share <= 3 % per request",
                                  "peak <= 3 per request",
                                  "growth per request <= 3",
                                  "live <= 3",
                                  "live at <= 3",
                                  "freed <= 1",
                                  "growth at end <= 1",
                                  "peak <= 3 TiB",
                                  "allocations <= inf",
                                  "allocations <= nan",
                                  "allocations <= 1e999",
                                  "allocations <= 5 %",
                                  "allocations <= 5 KiB",
                                  "system calls <= 5 ms",
                                  "heap share <= 5",
                                  "heap share <= 5 ms",
                                  "lock waits <= 1",
                                  "lock waits <= 1 KiB",
                                  "cpu share at function parse <= 20",
                                  "cpu time <= 5",
                                  "cpu time <= 5 %",
                                  "peak <= 5 s"}) {
    EXPECT_THROW(limit_of(wrong), wrong_limit) << wrong;
  }
}

}  // namespace
}  // namespace tarn::analyse
