// Tests that the reader returns the written recording: at once, in steps, and up to where a file was cut off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <system_error>

#include "profiler/format/reader.hpp"
#include "profiler/format/recorder_library.hpp"
#include "profiler/format/writer.hpp"
#include "unit/format/example.hpp"

namespace tarn::format {
namespace {

void expect_same(const recording& read, const recording& recording) {
  EXPECT_EQ(read.program.process, recording.program.process);
  EXPECT_EQ(read.program.started, recording.program.started);
  EXPECT_EQ(read.program.machine, recording.program.machine);
  EXPECT_EQ(read.program.mode, recording.program.mode);
  EXPECT_EQ(read.program.arguments, recording.program.arguments);
  EXPECT_EQ(read.program.host, recording.program.host);
  EXPECT_EQ(read.images, recording.images);
  EXPECT_EQ(read.modules, recording.modules);
  EXPECT_EQ(read.threads, recording.threads);
  EXPECT_EQ(read.sites, recording.sites);
  EXPECT_EQ(read.cells, recording.cells);
  EXPECT_EQ(read.calls, recording.calls);
  EXPECT_EQ(read.locks, recording.locks);
  EXPECT_EQ(read.acquisitions, recording.acquisitions);
  EXPECT_EQ(read.waits, recording.waits);
  EXPECT_EQ(read.orders, recording.orders);
  EXPECT_EQ(read.open_uses, recording.open_uses);
  EXPECT_EQ(read.open_calls, recording.open_calls);
  EXPECT_EQ(read.quiet_regions, recording.quiet_regions);
  EXPECT_EQ(read.python_codes, recording.python_codes);
  EXPECT_EQ(read.violations, recording.violations);
  EXPECT_EQ(read.cpu.interval_ns, recording.cpu.interval_ns);
  EXPECT_EQ(read.cpu.lost, recording.cpu.lost);
  EXPECT_EQ(read.cpu.is_kernel_hidden, recording.cpu.is_kernel_hidden);
  EXPECT_EQ(read.cpu.modules, recording.cpu.modules);
  EXPECT_EQ(read.cpu.python_codes, recording.cpu.python_codes);
  EXPECT_EQ(read.cpu.threads, recording.cpu.threads);
  EXPECT_EQ(read.cpu.stacks, recording.cpu.stacks);
  EXPECT_EQ(read.cpu.cells, recording.cpu.cells);
  EXPECT_EQ(read.lasting.modules, recording.lasting.modules);
  EXPECT_EQ(read.lasting.python_codes, recording.lasting.python_codes);
  EXPECT_EQ(read.lasting.stacks, recording.lasting.stacks);
  EXPECT_EQ(read.lasting.waits, recording.lasting.waits);
  EXPECT_EQ(read.clock, recording.clock);
  EXPECT_EQ(read.snapshots, recording.snapshots);
  EXPECT_EQ(read.residence, recording.residence);
  EXPECT_EQ(read.peak_resident, recording.residence);
  EXPECT_EQ(read.has_leaks, recording.has_leaks);
  EXPECT_EQ(read.leaks, recording.leaks);
  EXPECT_EQ(read.contents, recording.contents);
  EXPECT_EQ(read.limits, recording.limits);
  EXPECT_EQ(read.program.sources, recording.program.sources);
  EXPECT_EQ(read.has_ended, recording.has_ended);
  EXPECT_EQ(read.end, recording.end);
  EXPECT_EQ(read.excerpts, recording.excerpts);
  EXPECT_EQ(read.damage, "");
}

TEST(recording, is_read_as_written) {
  const recording recording = example_recording();
  expect_same(parse(file_of(recording)), recording);
}

TEST(recording, the_last_change_of_a_cell_holds) {
  recording recording = example_recording();
  const file_at_test file;
  writer output(file.path());
  output.program(recording.program);
  output.changes(recording);
  recording.cells[{1, 0, 0}][blocks] += 1'000'000;
  recording.cells[{2, 0, 1}][frees] = 1;
  recording.threads[0].name = "renamed";
  recording.threads[1].unknown = 5;
  recording.threads.push_back({1, 9, 9, 9});
  recording.sites.push_back({1, {5}});
  recording.cells[{3, 3, 3}][blocks] = 1;
  recording.calls[{3, 3, 0}][calls] = 1;
  recording.locks.push_back({1, lock_type::condition, 3, 8});
  recording.locks.push_back({1, lock_type::mutex, 3, 16, true});
  recording.acquisitions[{1, 0, 1}][acquisitions] += 1;
  recording.waits[{3, 3, 2, 3, 3}][waits] = 5;
  recording.orders[{3, 3, 2, 1, 1, 0}][orders] = 1;
  recording.quiet_regions[0].entered = 13;
  recording.quiet_regions.push_back({1, "another", 1});
  recording.violations[{3, 3, 1}][lock_waits] = 1;
  recording.cpu.lost = 4;
  recording.python_codes.push_back({1, std::uint64_t{0x5079} << 48, 40, 7, "a.py", "f", std::string("\x80\0", 2)});
  recording.cpu.python_codes.push_back({0, (std::uint64_t{0x5079} << 48) + 2, 4, 1, "b.py", "g", ""});
  recording.cpu.modules.push_back({0, 0x9000, 0xa000, 0, "/lib/other.so", ""});
  recording.cpu.threads[1].name = "worker";
  recording.cpu.threads.push_back({1, 10, "late"});
  recording.cpu.stacks.push_back({1, {0x77}});
  recording.cpu.cells[{1, 0}][cpu_samples] += 7;
  recording.cpu.cells[{3, 2}] = {1, 1, 1};
  recording.cpu.cells[{0, 1}][waiting_ns] = std::uint64_t{1} << 40;
  recording.lasting.modules.push_back({1, 0x9000, 0xa000, 0, "/lib/other.so", ""});
  recording.lasting.python_codes.push_back({0, (std::uint64_t{0x5079} << 48) + 3, 4, 1, "c.py", "h", ""});
  recording.lasting.stacks.push_back({1, {0x88, 0x99}});
  recording.lasting.waits = {{4712, 2, awaited::thread_end, 8, 9}};
  recording.clock = {5, 2};
  recording.excerpts.push_back({0, 16384, {}});
  recording.snapshots.push_back({3000, 0, 11, 22, 8192});
  output.changes(recording);
  const std::uint64_t before = output.bytes();
  output.changes(recording);
  EXPECT_EQ(output.bytes(), before) << "nothing changed, and something was written";
  output.end(recording.end);
  EXPECT_EQ(output.bytes(), file.content().size());
  expect_same(read(file.path()), recording);
}

TEST(recording, the_last_and_the_largest_residence_are_kept) {
  recording recording = example_recording();
  const file_at_test file;
  writer output(file.path());
  output.program(recording.program);
  const residence_facts small = recording.residence;
  recording.residence.bytes[0] *= 100;
  const residence_facts large = recording.residence;
  output.changes(recording);
  recording.residence = small;
  output.changes(recording);
  EXPECT_EQ(read(file.path()).residence, small);
  EXPECT_EQ(read(file.path()).peak_resident, large);
}

TEST(recording, has_what_it_took_by_the_last_block_of_that_kind) {
  work_facts work;
  work.collector_us = 1234;
  work.amounts[lock_work] = 1'000'000'000'000;
  work.prices[lock_work] = 12.345;
  const file_at_test file;
  writer output(file.path());
  output.work(work);
  EXPECT_EQ(read(file.path()).work, work);
  work.amounts[start_work] = 1;
  work.is_disturbed = true;
  output.work(work);
  EXPECT_EQ(read(file.path()).work, work);
  EXPECT_FALSE(parse(file_of(example_recording())).work.is_priced());
}

TEST(recording, of_many_sites_spans_blocks) {
  recording recording = example_recording();
  for (std::uint32_t site = 3; site < 20'000; ++site) {
    recording.sites.push_back({0, {site * 0x123456789ULL, site * 0x987654321ULL, site, 0, ~std::uint64_t{site}}});
    recording.cells[{site, 1, 2}][bytes] = site * 0x123456789ULL;
    recording.cells[{site, 1, 2}][blocks] = site;
  }
  expect_same(parse(file_of(recording)), recording);
}

// A file that is cut at `size` may lack only the content behind it.
TEST(recording, is_read_up_to_the_last_whole_block_wherever_it_is_cut) {
  const recording whole = example_recording();
  const std::string file = file_of(whole);
  std::size_t cells = 0, undamaged = 0;
  for (std::size_t size = sizeof(file_header); size < file.size(); ++size) {
    const recording read = parse(std::string_view(file).substr(0, size));
    EXPECT_FALSE(read.has_ended);
    EXPECT_TRUE(read.cells.empty() || read.cells == whole.cells);
    EXPECT_EQ(read.cells.empty(), read.snapshots.empty()) << "a look is there as a whole or not at all";
    EXPECT_TRUE(read.sites.empty() || read.sites == whole.sites);
    cells += read.cells.empty() ? 0 : 1;
    undamaged += read.damage.empty() ? 1 : 0;  // a cut between two blocks looks like a program that still runs
  }
  EXPECT_GE(cells, sizeof(block_header)) << "the counts are lost with the block after them";
  EXPECT_EQ(undamaged, 3U) << "a cut after the header, the program and the look is no damage";
}

TEST(recording, of_a_newer_version_is_refused_by_name) {
  std::string file = file_of(example_recording());
  const std::uint32_t newer = recording_version + 1;
  std::memcpy(file.data() + offsetof(file_header, version), &newer, sizeof newer);
  try {
    parse(file);
    FAIL() << "it was read";
  } catch (const unreadable& reason) {
    EXPECT_THAT(reason.what(), testing::HasSubstr("version " + std::to_string(newer)));
    EXPECT_THAT(reason.what(), testing::HasSubstr("reads version " + std::to_string(recording_version)));
  }
}

TEST(recording, something_else_is_refused) {
  EXPECT_THROW(parse(""), unreadable);
  EXPECT_THROW(parse("tarn"), unreadable);
  EXPECT_THROW(parse(std::string(100, 'x')), unreadable);
  EXPECT_THROW(read("/nonexistent/file"), unreadable);
}

TEST(recording, a_full_disk_is_an_error) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  EXPECT_THROW(writer("/dev/full"), std::system_error);
}

TEST(recorder_library, is_known_from_a_file_and_without_one) {
  EXPECT_TRUE(is_recorder_library("/usr/lib/libtarn-record.so"));
  EXPECT_TRUE(is_recorder_library("libtarn-record.so"));
  EXPECT_TRUE(is_recorder_library("/memfd:libtarn-record.so (deleted)")) << "of tarn record --pid";
  EXPECT_TRUE(is_recorder_library("memfd:libtarn-record.so (deleted)"));
  EXPECT_TRUE(is_recorder_library("/usr/lib/libtarn-record.so (deleted)")) << "of a package that was upgraded";
  EXPECT_FALSE(is_recorder_library("/usr/lib/my-libtarn-record.so"));
  EXPECT_FALSE(is_recorder_library("/usr/lib/libtarn-malloc.so"));
  EXPECT_FALSE(is_recorder_library(""));
}

}  // namespace
}  // namespace tarn::format
