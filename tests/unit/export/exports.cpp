// Tests each export format on one recording, whose names are as difficult as possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/export/formats.hpp"
#include "profiler/export/utf8.hpp"
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
format::recording example_recording() {
  format::recording recording = analyse::recording_of(
      {{.blocks = 10, .size = 20, .own_frees = 10}, {.blocks = 7, .size = 3, .own_frees = 1, .other_frees = 4}});
  recording.modules = {
      {0, 0x1000, 0x1fff, 0x1000, std::string("/bin/") + bad_name, "0123456789abcdef0123456789abcdef01234567"}};
  recording.locks = {{}, {0, format::lock_type::mutex, 1, 0x7000}};
  recording.clock = {2, 1};
  recording.acquisitions[{1, 1, 1}] = {5, 2, 2000, 2000, 5, 600, 600, 0, 0};
  recording.calls[{2, 0, 0}] = {3, 1, 300, 200, 4000, 0, 0};  // read
  recording.cpu.interval_ns = 5;
  recording.cpu.cells[{1, 0}][format::cpu_samples] = 3;
  recording.cpu.cells[{1, 0}][format::waiting_ns] = 70;
  recording.cells[{0, 1, 1}][format::blocks] = 1;
  recording.cells[{0, 1, 1}][format::bytes] = 5;
  return recording;
}

std::string collapsed(const profile& profile, measure shown_measure) {
  std::string file;
  write_collapsed(profile, shown_measure, [&](std::string_view part) { file += part; });
  return file;
}
std::string speedscope(const profile& profile) {
  std::string file;
  write_speedscope(profile, [&](std::string_view part) { file += part; });
  return file;
}

values sums_of(const profile& profile) {
  values total{};
  for (const sample& sample : profile.samples()) {
    for (std::size_t index = 0; index < total.size(); ++index) total[index] += sample.sums[index];
  }
  return total;
}

TEST(exports, a_profile_has_all_that_was_counted) {
  analyse::analysis analysis(example_recording());
  const profile profile(analysis);
  const values expected = {18, 226, 11, 4, 3, 11, 0, 0, 5, 2, 1000, 300, 3, 1, 200, 2000, 15, 70};
  EXPECT_EQ(sums_of(profile), expected);
  EXPECT_EQ(profile.used_measures().size(), measure_count - 2);  // no reallocs
}

TEST(exports, a_profile_of_samples_adds_up_to_the_exact_totals) {
  format::recording recording =
      analyse::recording_of({{.blocks = 900, .own_frees = 300, .other_frees = 550}, {.blocks = 77, .own_frees = 77}});
  recording.program.mode = "sampled";
  recording.program.interval = 16'384;
  recording.cells[{1, 1, 1}] = recording.cells.counts_of({1, 0, 0});
  for (auto& [key, value] : recording.cells) value[format::spread] = value[format::blocks] * 200;
  recording.threads[0].allocations = 870;
  recording.threads[0].bytes = 87'000;
  recording.threads[0].frees = 360;
  recording.threads[1].allocations = 910;
  recording.threads[1].bytes = 91'000;
  recording.threads[1].frees = 820;
  analyse::analysis analysis(recording);
  const profile profile(analysis);
  const values sums = sums_of(profile);
  EXPECT_EQ(sums[allocations], 1780U);
  EXPECT_EQ(sums[bytes], 178'000U);
  EXPECT_LE(sums[freed_by_same_thread] + sums[remote_frees], 1180U);
  EXPECT_GT(sums[freed_by_same_thread] + sums[remote_frees], 1100U);
  EXPECT_LE(sums[in_use], 600U);
  std::uint64_t largest = 0;
  for (const sample& sample : profile.samples()) largest = std::max(largest, sample.sums[allocations]);
  EXPECT_NEAR(static_cast<double>(largest), 870, 30) << "each thread keeps its share";
}

TEST(exports, collapsed_lines_are_a_frame_a_part_whatever_the_names) {
  analyse::analysis analysis(example_recording());
  const profile profile(analysis);
  const std::string file = collapsed(profile, allocations);
  EXPECT_EQ(file,
            "thread 100;[unknown];a:b <i>\" \xef\xbf\xbd\xe2\x80\xae+0x0;[same-thread] 10\n"
            "thread 100;[unknown];a:b <i>\" \xef\xbf\xbd\xe2\x80\xae+0x1;[cross-thread] 7\n"
            "thread 101;[not recorded];[kept] 1\n");
  EXPECT_THAT(collapsed(profile, lock_wait), HasSubstr("+0x0;[mutex: contended] 1000\n"));
  EXPECT_THAT(collapsed(profile, call_time), HasSubstr("+0x1;[read: needed] 2000\n"));
  EXPECT_THAT(collapsed(profile, cpu_time), HasSubstr("+0x0;[running] 15\n"));
  EXPECT_THAT(collapsed(profile, wait_time), HasSubstr("+0x0;[waiting] 70\n"));
  EXPECT_EQ(collapsed(profile, reallocs), "");
}

TEST(exports, speedscope_has_a_profile_for_each_measure) {
  analyse::analysis analysis(example_recording());
  const profile profile(analysis);
  const json file = json::parse(speedscope(profile));
  ASSERT_EQ(file["profiles"].size(), profile.used_measures().size());
  for (const json& value : file["profiles"]) {
    EXPECT_EQ(value["samples"].size(), value["weights"].size());
    EXPECT_EQ(std::accumulate(value["weights"].begin(), value["weights"].end(), 0U,
                              [](unsigned sum, const json& weight) { return sum + weight.get<unsigned>(); }),
              value["endValue"]);
    for (const json& stack : value["samples"]) {
      for (const json& frame : stack) EXPECT_LT(frame.get<std::size_t>(), file["shared"]["frames"].size());
    }
  }
}

TEST(exports, firefox_tables_fit_together) {
  analyse::analysis analysis(example_recording());
  const json file = json::parse(as_firefox(profile(analysis)));
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
    for (std::size_t index = 0; index < samples["length"]; ++index) {
      EXPECT_LT(samples["stack"][index].get<std::size_t>(), file["shared"]["stackTable"]["length"]);
      EXPECT_GE(samples["time"][index].get<double>(), last);
      last = samples["time"][index];
      sums[track["processName"]] += samples["weight"][index].get<double>();
    }
  }
  EXPECT_EQ(sums["Bytes allocated"], 226);
  EXPECT_EQ(sums["Time waited for locks"], 0.001);  // ms
  EXPECT_EQ(file["libs"][0]["breakpadId"], "67452301AB89EFCD0123456789ABCDEF0");
}

// Returns each value of `field` in a message.
std::vector<std::string> fields(const std::string& message, protozero::pbf_tag_type field) {
  std::vector<std::string> values;
  for (protozero::pbf_reader reader(message); reader.next();) {
    if (reader.tag() == field && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      values.push_back(reader.get_string());
    } else {
      reader.skip();
    }
  }
  return values;
}

TEST(exports, pprof_samples_name_locations_and_have_all_values) {
  analyse::analysis analysis(example_recording());
  const profile profile(analysis);
  const std::string file = as_pprof(profile, time_of(profile));
  const std::vector<std::string> strings = fields(file, 6);
  ASSERT_FALSE(strings.empty());
  EXPECT_EQ(strings[0], "");
  for (const std::string& text : strings) EXPECT_EQ(text, well_formed(text));
  EXPECT_EQ(fields(file, 1).size(), profile.used_measures().size());
  EXPECT_EQ(fields(file, 2).size(), profile.samples().size());
  const std::size_t locations = fields(file, 4).size();
  EXPECT_EQ(locations, profile.locations().size() + 1);  // the one of stacks that have none
  for (const std::string& text : fields(file, 2)) {
    protozero::pbf_reader reader(text);
    std::size_t values = 0;
    while (reader.next()) {
      if (reader.tag() == 1) {
        for (const std::uint64_t location : reader.get_packed_uint64()) EXPECT_LE(location, locations);
      } else if (reader.tag() == 2) {
        values = reader.get_packed_int64().size();
      } else {
        reader.skip();
      }
    }
    EXPECT_EQ(values, profile.used_measures().size());
  }
}

TEST(exports, pprof_says_only_of_a_sampled_heap_that_it_is_an_estimate) {
  for (const auto& [mode, source, is_estimate] :
       {std::tuple("sampled", "heap", true), std::tuple("full", "heap", false), std::tuple("sampled", "cpu", false)}) {
    format::recording recording = example_recording();
    recording.program.mode = mode;
    recording.program.sources = {source};
    analyse::analysis analysis(recording);
    const profile profile(analysis);
    const std::vector<std::string> strings = fields(as_pprof(profile, time_of(profile)), 6);
    EXPECT_EQ(std::count(strings.begin(), strings.end(), "sampled: what is counted of the heap is an estimate") != 0,
              is_estimate)
        << mode << ' ' << source;
  }
}

TEST(exports, an_empty_recording_is_an_empty_profile) {
  analyse::analysis analysis{format::recording()};
  const profile profile(analysis);
  EXPECT_THAT(profile.used_measures(), ElementsAre(bytes));
  EXPECT_EQ(collapsed(profile, bytes), "");
  EXPECT_EQ(json::parse(speedscope(profile))["profiles"].size(), 1U);
  EXPECT_EQ(json::parse(as_firefox(profile))["threads"].size(), 1U);
  EXPECT_EQ(fields(as_pprof(profile, time_of(profile)), 2).size(), 0U);
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
