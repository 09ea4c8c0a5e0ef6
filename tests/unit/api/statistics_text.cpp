#include "memory/api/statistics_text.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/child.hpp"

namespace {

using nlohmann::json;
using tarn::heap_statistics;
using tarn::process_statistics;
using tarn::base::options;
using tarn::base::stats_mode;
using tarn::base::text;
using namespace tarn::api;

// Every number is different, so that a field printed in another's place shows.
heap_statistics numbered_heap(std::uint64_t first) {
  return {.allocated_blocks = first + 100,
          .freed_blocks = first + 1,
          .allocated_bytes = first + 5'000,
          .freed_bytes = first + 3,
          .remote_frees = first + 4,
          .used_bytes = first + 13,
          .slabs = first + 5,
          .slab_bytes = first + 6,
          .large_blocks = first + 7,
          .large_bytes = first + 8,
          .footprint_bytes = first + 9,
          .peak_footprint_bytes = first + 10,
          .refills = first + 11,
          .flushes = first + 12};
}

process_statistics numbered_process() {
  return {.sums = numbered_heap(20'000),
          .waiting_frees = 29,
          .waiting_bytes = 30,
          .heaps = 2,
          .threads_started = 31,
          .abandoned_heaps = 32,
          .adopted_heaps = 33,
          .purges = 34,
          .purged_bytes = 35,
          .footprint_bytes = 36,
          .peak_footprint_bytes = 37,
          .system_calls = {.mmap = 41, .munmap = 42, .mremap = 43, .madvise = 44, .mprotect = 45}};
}

constexpr advice some_advice{
    .initial = 2 << 20, .increment = 64 << 10, .limit = std::uint64_t{3} << 30, .excess_heaps = 51, .excess_bytes = 52};

struct rendered {
  std::unique_ptr<char[]> storage{new char[report_bytes]};
  text report{storage.get(), report_bytes};
};

std::string table(const process_statistics& process, std::span<const heap_row> heaps, std::string_view program = "app",
                  const advice& next = {}) {
  rendered out;
  append_table(out.report, {.program = program, .process = 77}, process, heaps, next);
  EXPECT_FALSE(out.report.is_truncated());
  return std::string(out.report.view());
}

std::string json_line(const process_statistics& process, std::span<const heap_row> heaps,
                      std::string_view program = "app", const advice& next = some_advice) {
  rendered out;
  append_json(out.report, {.program = program, .process = 77}, process, heaps, next);
  EXPECT_FALSE(out.report.is_truncated());
  return std::string(out.report.view());
}

std::string exposition(const process_statistics& process, std::span<const heap_row> heaps,
                       std::string_view program = "app", const advice& next = some_advice) {
  rendered out;
  append_openmetrics(out.report, {.program = program, .process = 77}, process, heaps, next);
  EXPECT_FALSE(out.report.is_truncated());
  return std::string(out.report.view());
}

TEST(statistics_text, table_has_a_line_for_each_heap_and_the_sums) {
  const heap_row heaps[] = {{"main", 77, numbered_heap(1'000)}, {"", 0, numbered_heap(2'000)}};
  EXPECT_EQ(table(numbered_process(), heaps),
            "tarn: statistics of process 77 (app)\n"
            "heap                   thread       blocks           bytes   blocks now      bytes now  remote frees   "
            "slabs  footprint bytes     peak bytes\n"
            "main                       77         1100            6000           99           4997          1004    "
            "1005             1009           1010\n"
            "-                           -         2100            7000           99           4997          2004    "
            "2005             2009           2010\n"
            "all heaps ever              -        20100           25000           99           4997         20004   "
            "20005            20009          20010\n"
            "waiting frees: 29 blocks, 30 bytes, freed by other threads; the heaps above still show them\n"
            "footprint: 36 bytes, peak 37 bytes\n"
            "heaps: 2 now, for 31 threads started; 32 abandoned, 33 adopted\n"
            "purges: 34, 35 bytes\n"
            "system calls: 215 (mmap 41, munmap 42, mremap 43, madvise 44, mprotect 45)\n");
}

TEST(statistics_text, one_thread_and_one_heap_are_singular) {
  process_statistics process = numbered_process();
  process.threads_started = 1;
  process.waiting_frees = 1;
  advice next = some_advice;
  next.excess_heaps = 1;
  const std::string report = table(process, {}, "app", next);
  EXPECT_NE(report.find(" for 1 thread started; "), std::string::npos) << report;
  EXPECT_NE(report.find("waiting frees: 1 block, 30 bytes"), std::string::npos) << report;
  EXPECT_NE(report.find("initial: 1 heap, 52 bytes"), std::string::npos) << report;
}

TEST(statistics_text, json_has_every_field) {
  const heap_row heaps[] = {{"main", 77, numbered_heap(1'000)}, {"", 0, numbered_heap(2'000)}};
  const std::string line = json_line(numbered_process(), heaps);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line, so that processes can share a file";
  const auto heap = [](std::uint64_t first) {
    return json{{"allocated_blocks", first + 100},
                {"freed_blocks", first + 1},
                {"allocated_bytes", first + 5'000},
                {"freed_bytes", first + 3},
                {"remote_frees", first + 4},
                {"used_bytes", first + 13},
                {"slabs", first + 5},
                {"slab_bytes", first + 6},
                {"large_blocks", first + 7},
                {"large_bytes", first + 8},
                {"footprint_bytes", first + 9},
                {"peak_footprint_bytes", first + 10},
                {"refills", first + 11},
                {"flushes", first + 12}};
  };
  json first = heap(1'000), second = heap(2'000);
  first["name"] = "main", first["thread"] = 77;
  second["name"] = "", second["thread"] = 0;
  const json expected = {
      {"program", "app"},
      {"process", 77},
      {"heap_rows", {first, second}},
      {"heap_rows_left_out", 0},
      {"sums", heap(20'000)},
      {"waiting_frees", 29},
      {"waiting_bytes", 30},
      {"heaps", 2},
      {"threads_started", 31},
      {"abandoned_heaps", 32},
      {"adopted_heaps", 33},
      {"purges", 34},
      {"purged_bytes", 35},
      {"mapped_bytes", 0},
      {"footprint_bytes", 36},
      {"peak_footprint_bytes", 37},
      {"system_calls", {{"mmap", 41}, {"munmap", 42}, {"mremap", 43}, {"madvise", 44}, {"mprotect", 45}}},
      {"advice",
       {{"initial", 2 << 20},
        {"increment", 64 << 10},
        {"limit", std::uint64_t{3} << 30},
        {"excess_heaps", 51},
        {"excess_bytes", 52}}}};
  EXPECT_EQ(json::parse(line), expected);
}

TEST(statistics_text, advice_is_written_as_the_options_take_it) {
  const std::string report = table({}, {}, "app", some_advice);
  EXPECT_EQ(report.substr(report.find("advice")),
            "advice: TARN_INITIAL=2M TARN_INCREMENT=64K; TARN_LIMIT=3072M would have been enough; beyond this "
            "run's initial: 51 heaps, 52 bytes\n");
  options read;
  rendered reason;
  EXPECT_TRUE(parse_option(read, tarn::base::option_id::initial, "2M", reason.report));
  EXPECT_TRUE(parse_option(read, tarn::base::option_id::increment, "64K", reason.report));
  EXPECT_EQ(read.initial, some_advice.initial);
  EXPECT_EQ(read.increment, some_advice.increment);
}

// Checks the rules of the format that readers depend on: type before samples, all samples of a family together,
// _total for counters, no two samples alike, # EOF at the end.
TEST(statistics_text, openmetrics_keeps_the_rules_of_the_format) {
  const heap_row heaps[] = {
      {"main", 77, numbered_heap(1'000)}, {"\"\\\n\xff", 0, numbered_heap(2'000)}, {"main", 77, numbered_heap(3'000)}};
  std::istringstream lines(exposition(numbered_process(), heaps, "a\"b"));
  std::set<std::string> families, samples;
  std::string family, type, line;
  bool has_ended = false;
  std::size_t values = 0;
  while (std::getline(lines, line)) {
    EXPECT_FALSE(has_ended) << line;
    if (line == "# EOF") {
      has_ended = true;
    } else if (line.starts_with("# ")) {
      ASSERT_THAT(line, testing::MatchesRegex("# TYPE [a-z_]+ (counter|gauge)"));
      std::istringstream(line.substr(7)) >> family >> type;
      EXPECT_TRUE(families.insert(family).second) << family << " twice";
    } else {
      ASSERT_THAT(line, testing::MatchesRegex(R"re([a-z_]+\{([a-z]+="[^"\\]*",?)+\} [0-9]+)re"));
      EXPECT_EQ(line.substr(0, line.find('{')), family + (type == "counter" ? "_total" : ""));
      EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line << " twice";
      ++values;
    }
  }
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(values, (sizeof(heap_statistics) / 8 - 1) * (3 + 1) +
                        (sizeof(process_statistics) - sizeof(heap_statistics)) / 8 + sizeof(advice) / 8);
  const std::string metrics = exposition(numbered_process(), heaps);
  EXPECT_NE(metrics.find("# TYPE tarn_heap_allocated_blocks counter\ntarn_heap_allocated_blocks_total{program=\"app\","
                         "process=\"77\",row=\"0\",thread=\"77\",heap=\"main\"} 1100\n"),
            std::string::npos);
  EXPECT_NE(
      metrics.find("# TYPE tarn_footprint_bytes gauge\ntarn_footprint_bytes{program=\"app\",process=\"77\"} 36\n"),
      std::string::npos);
  EXPECT_NE(metrics.find("tarn_system_calls_total{program=\"app\",process=\"77\",call=\"madvise\"} 44\n"),
            std::string::npos);
}

TEST(statistics_text, has_no_rows_without_heaps) {
  EXPECT_EQ(json::parse(json_line({}, {})).at("heap_rows"), json::array());
  EXPECT_EQ(table({}, {}).find("more"), std::string::npos);
}

TEST(statistics_text, shows_the_first_heaps_and_counts_the_others) {
  const std::vector<heap_row> heaps(max_heap_rows + 3, heap_row{"worker", 5, numbered_heap(1)});
  process_statistics process;
  process.heaps = 10'000;
  const auto count_rows = [](const std::string& report) {
    std::size_t rows = 0;
    for (std::size_t position = report.find("\nworker "); position != std::string::npos;
         position = report.find("\nworker ", position + 1))
      ++rows;
    return rows;
  };
  std::string report = table(process, heaps);
  EXPECT_EQ(count_rows(report), max_heap_rows);
  EXPECT_NE(report.find("\n... and 9968 more\n"), std::string::npos);
  EXPECT_EQ(json::parse(json_line(process, heaps)).at("heap_rows_left_out"), 9'968);

  process.heaps = 0;  // older than the rows
  report = table(process, heaps);
  EXPECT_NE(report.find("\n... and 3 more\n"), std::string::npos);

  process.heaps = max_heap_rows;
  report = table(process, std::span(heaps).first(max_heap_rows));
  EXPECT_EQ(count_rows(report), max_heap_rows);
  EXPECT_EQ(report.find("more"), std::string::npos);
}

TEST(statistics_text, counters_read_late_do_not_wrap) {
  heap_statistics ahead;
  ahead.allocated_blocks = 5, ahead.freed_blocks = 6, ahead.allocated_bytes = 50, ahead.freed_bytes = 60;
  const heap_row heaps[] = {{"w", 1, ahead}};
  EXPECT_EQ(table({}, heaps).find("18446744073709551615"), std::string::npos);
}

TEST(statistics_text, hostile_names_do_not_break_a_line_or_the_json) {
  const std::string name = "a\"\\\n\x1b]0;x\x07\xff\xc3";
  const heap_row heaps[] = {{name, 1, numbered_heap(1)}};
  const std::string text = table({}, heaps, name);
  for (const char byte : text) EXPECT_TRUE(byte == '\n' || (byte >= ' ' && byte <= '~')) << static_cast<int>(byte);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << "as with a tame name";
  const json read = json::parse(json_line({}, heaps, name));
  EXPECT_EQ(read.at("heap_rows").at(0).at("name"), "a\"\\\n\x1b]0;x\x07\xc3\xbf\xc3\x83");
  EXPECT_EQ(read.at("program"), read.at("heap_rows").at(0).at("name"));
}

TEST(statistics_text, the_longest_report_fits) {
  heap_statistics largest;
  std::fill_n(reinterpret_cast<std::uint64_t*>(&largest), sizeof largest / 8, ~std::uint64_t{0});
  process_statistics process;
  std::fill_n(reinterpret_cast<std::uint64_t*>(&process), sizeof process / 8, ~std::uint64_t{0});
  const std::string name(500, '\xff');
  const std::vector<heap_row> heaps(max_heap_rows, heap_row{name, ~std::uint64_t{0}, largest});
  table(process, heaps, name);
  advice next;
  std::fill_n(reinterpret_cast<std::uint64_t*>(&next), sizeof next / 8, ~std::uint64_t{0});
  json_line(process, heaps, name, next);  // each checks that nothing was cut off
  table(process, heaps, name, next);
  exposition(process, heaps, name, next);
}

// Returns the standard error of a child process that runs `body`.
template <class Body>
std::string standard_error_of(Body body) {
  const support::ending child = support::in_child(body);
  EXPECT_EQ(child.signal, 0);
  EXPECT_EQ(child.status, 0);
  return child.error;
}

options options_for(stats_mode mode, const std::string& file = "") {
  options values;
  values.stats = mode;
  file.copy(values.stats_file, file.size());
  return values;
}

TEST(statistics_output, goes_to_standard_error) {
  const std::string out = standard_error_of([] {
    const options values = options_for(stats_mode::json);
    open_statistics_output(values);
    if (!print_statistics(values, numbered_process(), {}, {})) ::abort();
  });
  EXPECT_EQ(json::parse(out).at("threads_started"), 31);
}

TEST(statistics_output, survives_a_program_that_closes_standard_error) {
  const std::string out = standard_error_of([] {
    const options values = options_for(stats_mode::text);
    open_statistics_output(values);
    ::close(STDERR_FILENO);
    print_statistics(values, numbered_process(), {}, {});
  });
  EXPECT_NE(out.find("footprint: 36 bytes"), std::string::npos);
}

TEST(statistics_output, names_a_heap_after_its_thread) {
  const std::string out = standard_error_of([] {
    ::prctl(PR_SET_NAME, "a 15-byte\n\"name");
    const std::uint64_t thread = static_cast<std::uint64_t>(::getpid());
    const heap_row heaps[] = {{"", thread, {}}, {"mine", thread, {}}, {"", 0, {}}, {"", 0x7fff'ffff, {}}};
    print_statistics(options_for(stats_mode::json), numbered_process(), heaps, {});
  });
  std::vector<std::string> names;
  const json report = json::parse(out);
  for (const json& row : report.at("heap_rows")) names.push_back(row.at("name"));
  EXPECT_THAT(names, testing::ElementsAre("a 15-byte\n\"name", "mine", "", ""));
}

TEST(statistics_output, never_lands_in_a_file_that_took_the_descriptor) {
  const std::string path = testing::TempDir() + "tarn-victim-" + std::to_string(::getpid());
  standard_error_of([&] {
    const options values = options_for(stats_mode::text);
    open_statistics_output(values);
    for (int descriptor = 3; descriptor < 1'100; ++descriptor) ::close(descriptor);
    const int victim = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    for (int descriptor = 1'000; descriptor < 1'010; ++descriptor) ::dup2(victim, descriptor);
    print_statistics(values, numbered_process(), {}, {});
  });
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  std::filesystem::remove(path);
}

TEST(statistics_output, appends_to_the_file_of_the_start) {
  const std::string folder = testing::TempDir() + "tarn-stats-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string out = standard_error_of([&] {
    if (::chdir(folder.c_str()) != 0) ::abort();
    const options values = options_for(stats_mode::json, "stats.json");
    open_statistics_output(values);
    if (::chdir("/") != 0) ::abort();
    print_statistics(values, numbered_process(), {}, {});
    print_statistics(values, numbered_process(), {}, {});
  });
  EXPECT_EQ(out, "");
  std::ifstream file(folder + "/stats.json");
  std::string line;
  int lines = 0;
  for (; std::getline(file, line); ++lines) EXPECT_EQ(json::parse(line).at("process").is_number(), true);
  EXPECT_EQ(lines, 2);
  std::filesystem::remove_all(folder);
}

TEST(statistics_output, reports_an_unusable_file_and_uses_standard_error) {
  const std::string path = testing::TempDir() + "tarn-stats-" + std::to_string(::getpid()) + "-missing/stats";
  const std::string out = standard_error_of([&path] {
    const options values = options_for(stats_mode::text, path);
    open_statistics_output(values);
    print_statistics(values, numbered_process(), {}, {});
  });
  EXPECT_THAT(out, testing::StartsWith("tarn: cannot open stats_file " + path + ": No such file or directory; " +
                                       "standard error is used\ntarn: statistics of process "));
}

TEST(statistics_output, is_silent_and_opens_nothing_when_off) {
  const std::string out = standard_error_of([] {
    open_statistics_output(options_for(stats_mode::off, "/nonexistent/stats"));
    if (::fcntl(1'000, F_GETFD) != -1) ::abort();
  });
  EXPECT_EQ(out, "");
}

}  // namespace
