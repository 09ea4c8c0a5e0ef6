// A small recording with an entry of each kind, and its file.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "profiler/format/recording.hpp"
#include "profiler/format/writer.hpp"

namespace tarn::format {

inline recording example_recording() {
  recording recording;
  recording.program = {4711,   1'700'000'000,     "Linux 6, 2 processors",
                       "full", {"heap", "locks"}, {"./server", "--port", "", "80"}};
  recording.program.host = "h17";
  recording.images = 2;
  recording.modules = {{0, 0x1000, 0x5000, 0x1000, "/bin/server", "00ff", own_malloc | own_new},
                       {1, ~0ULL - 9, ~0ULL, 0, "", ""}};
  recording.threads = {
      {0, 4711, 7, 0, 5, 6, 70, "a;\n\xff"}, {0, 4712, 0, 1, 0, 0, 0, {}}, {1, 4711, 0, 0, 0, 0, 0, {}, 12}};
  recording.sites = {{}, {0, {0x1234, 0x1200, 0x7fffffffffff, 1}}, {1, {~0ULL, 0, ~0ULL}}};
  recording.limits = {3, 4, 5, true, true};
  heap_counts counts{};
  counts[blocks] = 3;
  counts[bytes] = ~0ULL;
  counts[counter_count - 1] = 1;
  recording.cells[{1, 0, 0}] = counts;
  recording.cells[{1, 0, 1}] = heap_counts{};
  recording.cells[{1, 0, 1}][frees] = 2;
  recording.cells[{2, 2, 2}] = counts;
  recording.calls[{1, 1, 257}] = {4, 1, 4096, 100, ~0ULL, 0, 3};
  recording.locks = {{}, {1, lock_type::spin, 2, 0x7fff12345678}};
  recording.acquisitions[{1, 0, 1}] = {7, 0, 0, 0, 7, 1000, 500, 0, 1, 42};
  recording.acquisitions[{2, 2, 0}] = {1, 1, 99, 99, 0, 0, 0, 1, 0};
  recording.waits[{1, 0, 1, 2, 2}] = {1, 99};
  recording.orders[{2, 1, 1, 1, 0, 1}] = {5, 1, 77};
  recording.open_uses = {{{true, 1, 0, 1}, 1'000}, {{false, 2, 2, 0}, 0}};
  recording.open_calls = {{{1, 2, 232}, 900}, {{2, 0, 0}, 0}};
  recording.quiet_regions = {{1, "parse\xff", 12}};
  recording.violations[{2, 1, 0}] = {1, 0, 3};
  recording.cpu.interval_ns = 5'025'125;
  recording.cpu.lost = 3;
  recording.cpu.is_kernel_hidden = true;
  recording.cpu.modules = {{1, 0x1000, 0x5000, 0x1000, "/bin/server", "00ff", 0}};
  recording.cpu.threads = {{1, 4711, "a;\n\xff"}, {0, 9, {}}};
  recording.cpu.stacks = {{}, {1, {0x1235, 0x1200}}, {0, {~0ULL}}};
  recording.cpu.cells[{0, 1}] = {1, 0, 0, 70, 5, 1'000, 2, 4, 3};
  recording.cpu.cells[{1, 0}] = {199, 20, ~0ULL};
  recording.lasting.modules = {{1, 0x2000, 0x6000, 0x2000, "/lib/c.so", "0a", 0}};
  recording.lasting.stacks = {{}, {1, {0x2235}}};
  recording.lasting.waits = {{4711, 1, awaited::mutex, ~0ULL, 4712, ownership::possible, wait_start::later, "net"},
                             {4712, 0, awaited::nothing, 0, 0}};
  recording.clock = {2'500'000'000, 1'000'000'000};
  recording.snapshots = {{1000, 4096, 10, 20}};
  recording.residence.at_ns = 1000;
  recording.residence.bytes = {4096, 8192, 0, 5, 6, 7, 1U << 30};
  recording.residence.knows_in_use = true;
  recording.residence.in_use_bytes = 3000;
  recording.residence.shared_bytes = 4;
  recording.residence.huge_page_bytes = 5;
  recording.residence.swapped_bytes = 6;
  recording.contents = {40, 900, {{1, {3, 96, 40, 20, 2, 1, 16, 1}}, {2, {1, 8, 8, 8, 1, 0, 0, 0}}}};
  recording.has_leaks = true;
  recording.leaks = {{1, {3, 96, 1}}, {2, {1, 8, 1}}};
  recording.excerpts = {{1,
                         8192,
                         {{excerpt_kind::allocate, 2, 100, 0x7f0012345670},
                          {excerpt_kind::release, 0, ~0U, 0x10},
                          {excerpt_kind::release, 2, 16, 0x20},
                          {excerpt_kind::resize, 0, 104, 0x7f0012345670},
                          {excerpt_kind::allocate, 1, 0, ~0ULL}}}};
  recording.has_ended = true;
  recording.end = {true, 9, 1, 2, 3, 4, 5};
  return recording;
}

class file_at_test {
 public:
  file_at_test() : path_(testing::TempDir() + "tarn_recording_" + std::to_string(::getpid())) {}
  file_at_test(const file_at_test&) = delete;
  file_at_test& operator=(const file_at_test&) = delete;
  ~file_at_test() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::string path_;
};

inline std::string file_of(const recording& recording) {
  const file_at_test file;
  writer writer_to_file(file.path());
  writer_to_file.program(recording.program);
  writer_to_file.changes(recording);
  if (recording.has_ended) writer_to_file.end(recording.end);
  return file.content();
}

}  // namespace tarn::format
