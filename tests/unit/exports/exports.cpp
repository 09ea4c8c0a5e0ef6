// Tests each export format on one recording, whose names are as difficult as possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <protozero/pbf_reader.hpp>
#include <string>

#include "exports/formats.hpp"
#include "exports/text.hpp"
#include "unit/analyse/recordings.hpp"

namespace tarn::exports {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* bad_name = "a;b\n<i>\"\x7f\xff\xe2\x80\xae";

// Has two sites of the heap, one of which hands blocks to another thread; one lock that is waited for; one system
// call; and the site beyond the limit.
format::recording recording() {
  format::recording made = analyse::recording_of(
      {{.blocks = 10, .size = 20, .own_frees = 10}, {.blocks = 7, .size = 3, .own_frees = 1, .other_frees = 4}});
  made.modules = {
      {0, 0x1000, 0x1fff, 0x1000, std::string("/bin/") + bad_name, "0123456789abcdef0123456789abcdef01234567"}};
  made.locks = {{}, {0, format::lock_type::mutex, 1, 0x7000}};
  made.clock = {2, 1};
  made.lockings[{1, 1, 1}] = {5, 2, 2000, 2000, 5, 600, 600, 0, 0};
  made.calls[{2, 0, 0}] = {3, 1, 300, 200, 4000, 0, 0};  // read
  made.cells[{0, 1, 1}][format::blocks] = 1;
  made.cells[{0, 1, 1}][format::bytes] = 5;
  return made;
}

std::string collapsed(const profile& of, measure which) {
  std::string file;
  write_collapsed(of, which, [&](std::string_view part) { file += part; });
  return file;
}
std::string speedscope(const profile& of) {
  std::string file;
  write_speedscope(of, [&](std::string_view part) { file += part; });
  return file;
}

values sums_of(const profile& of) {
  values all{};
  for (const sample& each : of.samples()) {
    for (std::size_t at = 0; at < all.size(); ++at) all[at] += each.counted[at];
  }
  return all;
}

TEST(exports, a_profile_has_all_that_was_counted) {
  const format::recording in = recording();
  const profile made(in);
  const values expected = {18, 226, 11, 4, 3, 11, 0, 0, 5, 2, 1000, 300, 3, 1, 200, 2000};
  EXPECT_EQ(sums_of(made), expected);
  EXPECT_EQ(made.used().size(), measure_count - 2);  // no reallocs
}

TEST(exports, collapsed_lines_are_a_frame_a_part_whatever_the_names) {
  const format::recording in = recording();
  const profile made(in);
  const std::string file = collapsed(made, allocations);
  EXPECT_EQ(file,
            "thread 100;[unknown];a:b <i>\" \xef\xbf\xbd\xe2\x80\xae+0x0;[transient] 10\n"
            "thread 100;[unknown];a:b <i>\" \xef\xbf\xbd\xe2\x80\xae+0x1;[shared] 7\n"
            "thread 101;[not recorded];[kept] 1\n");
  EXPECT_THAT(collapsed(made, lock_wait), HasSubstr("+0x0;[mutex: one thread] 1000\n"));
  EXPECT_THAT(collapsed(made, call_time), HasSubstr("+0x1;[read: needed] 2000\n"));
  EXPECT_EQ(collapsed(made, reallocs), "");
}

TEST(exports, speedscope_has_a_profile_for_each_measure) {
  const format::recording in = recording();
  const profile made(in);
  const json file = json::parse(speedscope(made));
  ASSERT_EQ(file["profiles"].size(), made.used().size());
  for (const json& each : file["profiles"]) {
    EXPECT_EQ(each["samples"].size(), each["weights"].size());
    EXPECT_EQ(std::accumulate(each["weights"].begin(), each["weights"].end(), 0U,
                              [](unsigned sum, const json& one) { return sum + one.get<unsigned>(); }),
              each["endValue"]);
    for (const json& stack : each["samples"]) {
      for (const json& frame : stack) EXPECT_LT(frame.get<std::size_t>(), file["shared"]["frames"].size());
    }
  }
}

TEST(exports, firefox_tables_fit_together) {
  const format::recording in = recording();
  const json file = json::parse(as_firefox(profile(in)));
  for (const auto& [name, table] : file["shared"].items()) {
    if (name == "stringArray") continue;
    for (const auto& [column, content] : table.items()) {
      if (column == "length") continue;
      EXPECT_EQ(content.size(), table["length"]) << name << '.' << column;
    }
  }
  std::map<std::string, double> sums;
  for (const json& track : file["threads"]) {
    const json& samples = track["samples"];
    double last = 0;
    for (std::size_t at = 0; at < samples["length"]; ++at) {
      EXPECT_LT(samples["stack"][at].get<std::size_t>(), file["shared"]["stackTable"]["length"]);
      EXPECT_GE(samples["time"][at].get<double>(), last);
      last = samples["time"][at];
      sums[track["processName"]] += samples["weight"][at].get<double>();
    }
  }
  EXPECT_EQ(sums["Bytes allocated"], 226);
  EXPECT_EQ(sums["Time waited for locks"], 0.001);  // ms
  EXPECT_EQ(file["libs"][0]["breakpadId"], "67452301AB89EFCD0123456789ABCDEF0");
}

// Returns each value of `field` in a message.
std::vector<std::string> fields(const std::string& of, protozero::pbf_tag_type field) {
  std::vector<std::string> found;
  for (protozero::pbf_reader from(of); from.next();) {
    if (from.tag() == field && from.wire_type() == protozero::pbf_wire_type::length_delimited) {
      found.push_back(from.get_string());
    } else {
      from.skip();
    }
  }
  return found;
}

TEST(exports, pprof_samples_name_locations_and_have_all_values) {
  const format::recording in = recording();
  const profile made(in);
  const std::string file = as_pprof(made);
  const std::vector<std::string> strings = fields(file, 6);
  ASSERT_FALSE(strings.empty());
  EXPECT_EQ(strings[0], "");
  for (const std::string& each : strings) EXPECT_EQ(each, well_formed(each));
  EXPECT_EQ(fields(file, 1).size(), made.used().size());
  EXPECT_EQ(fields(file, 2).size(), made.samples().size());
  const std::size_t locations = fields(file, 4).size();
  EXPECT_EQ(locations, made.locations().size() + 1);  // the one of stacks that have none
  for (const std::string& each : fields(file, 2)) {
    protozero::pbf_reader from(each);
    std::size_t values = 0;
    while (from.next()) {
      if (from.tag() == 1) {
        for (const std::uint64_t place : from.get_packed_uint64()) EXPECT_LE(place, locations);
      } else if (from.tag() == 2) {
        values = from.get_packed_int64().size();
      } else {
        from.skip();
      }
    }
    EXPECT_EQ(values, made.used().size());
  }
}

TEST(exports, an_empty_recording_is_an_empty_profile) {
  const format::recording in;
  const profile made(in);
  EXPECT_THAT(made.used(), ElementsAre(bytes));
  EXPECT_EQ(collapsed(made, bytes), "");
  EXPECT_EQ(json::parse(speedscope(made))["profiles"].size(), 1U);
  EXPECT_EQ(json::parse(as_firefox(made))["threads"].size(), 1U);
  EXPECT_EQ(fields(as_pprof(made), 2).size(), 0U);
}

TEST(exports, text_is_made_well_formed) {
  const std::string good = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8e\xed\x9f\xbf\xf4\x8f\xbf\xbf";
  EXPECT_EQ(well_formed(good), good);
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(well_formed("\xff"), mark);
  EXPECT_EQ(well_formed("\xc0\x80"), mark + mark);             // longer than necessary
  EXPECT_EQ(well_formed("\xed\xa0\x80"), mark + mark + mark);  // a surrogate
  EXPECT_EQ(well_formed("\xf4\x90\x80\x80x"), mark + mark + mark + mark + "x");
  EXPECT_EQ(well_formed("a\xe2\x82"), "a" + mark + mark);  // cut off
}

}  // namespace
}  // namespace tarn::exports
