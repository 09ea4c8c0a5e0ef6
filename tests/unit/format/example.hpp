// A small recording with an entry of each kind, and its file.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "format/recording.hpp"
#include "format/writer.hpp"

namespace tarn::format {

inline recording example_recording() {
  recording made;
  made.program = {4711,   1'700'000'000,     "Linux 6, 2 processors",
                  "full", {"heap", "locks"}, {"./server", "--port", "", "80"}};
  made.images = 2;
  made.modules = {{0, 0x1000, 0x5000, 0x1000, "/bin/server", "00ff", own_malloc | own_new},
                  {1, ~0ULL - 9, ~0ULL, 0, "", ""}};
  made.threads = {{0, 4711, 7, 0, 5, 6, 70, "a;\n\xff"}, {0, 4712, 0, 1, 0, 0, 0, {}}, {1, 4711, 0, 0, 0, 0, 0, {}}};
  made.sites = {{}, {0, {0x1234, 0x1200, 0x7fffffffffff, 1}}, {1, {~0ULL, 0, ~0ULL}}};
  counts some{};
  some[blocks] = 3;
  some[bytes] = ~0ULL;
  some[counter_count - 1] = 1;
  made.cells[{1, 0, 0}] = some;
  made.cells[{1, 0, 1}] = counts{};
  made.cells[{1, 0, 1}][frees] = 2;
  made.cells[{2, 2, 2}] = some;
  made.calls[{1, 1, 257}] = {4, 1, 4096, 100, ~0ULL, 0, 3};
  made.locks = {{}, {1, lock_type::spin, 2, 0x7fff12345678}};
  made.lockings[{1, 0, 1}] = {7, 0, 0, 0, 7, 1000, 500, 0, 1};
  made.lockings[{2, 2, 0}] = {1, 1, 99, 99, 0, 0, 0, 1, 0};
  made.waits[{1, 0, 1, 2, 2}] = {1, 99};
  made.orders[{2, 1, 1, 1, 0, 1}] = {5, 1, 77};
  made.quiet_regions = {{1, "parse\xff", 12}};
  made.noises[{2, 1, 0}] = {1, 0, 3};
  made.clock = {2'500'000'000, 1'000'000'000};
  made.moments = {{1000, 4096, 10, 20}};
  made.excerpts = {{1,
                    8192,
                    {{excerpt_kind::allocate, 2, 100, 0x7f0012345670},
                     {excerpt_kind::release, 0, ~0U, 0x10},
                     {excerpt_kind::resize, 0, 104, 0x7f0012345670},
                     {excerpt_kind::allocate, 1, 0, ~0ULL}}}};
  made.ended = true;
  made.end = {true, 9, 1, 2, 3, 4, 5};
  return made;
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

inline std::string file_of(const recording& made) {
  const file_at_test file;
  writer to(file.path());
  to.program(made.program);
  to.changes(made);
  if (made.ended) to.end(made.end);
  return file.content();
}

}  // namespace tarn::format
