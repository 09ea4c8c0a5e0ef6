// The lines of a thread are read in the order of its appends, also where the processor's counter is slow and the thread
// has changed its lane. Compiles the journal over such a counter: 62.5 million ticks a second is usual on Arm.
#include <tarn/detail/fast_clock.hpp>

#include <cstdint>

namespace tarn::detail {
inline std::uint64_t slow_tick() noexcept { return clock_tick() >> 12; }
}  // namespace tarn::detail

#define clock_tick slow_tick
#include "io/journal.cpp"  // NOLINT(bugprone-suspicious-include)
#undef clock_tick

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/io/io_fixture.hpp"
#include "unit/io/journal_fixture.hpp"

namespace {

using namespace tarn::io;

// An append during an append takes another lane, as those of signal handlers do, or of threads that find theirs taken.
// The lanes get new chunks in turns, so either lane has the higher numbers half of the time.
TEST(journal_order, of_a_thread_that_changes_its_lane_is_that_of_its_appends) {
  const io_test::folder folder;
  constexpr int rounds = 500;
  {
    journal log(folder.path("log"), {.bytes = 256 * 1024, .chunk_bytes = 1024});
    for (int round = 0; round < rounds; ++round) {
      const std::string name = std::to_string(round);
      log.append_with([&](char*, std::size_t) -> std::size_t {
        log.append("inner " + name);
        return 0;
      });
      log.append("after " + name);
    }
  }
  std::vector<std::string> expected, read;
  for (int round = 0; round < rounds; ++round) {
    expected.push_back("inner " + std::to_string(round));
    expected.push_back("after " + std::to_string(round));
  }
  for (const std::string& text : io_test::texts_of(folder.path("log"))) {
    if (!text.empty()) read.push_back(text);
  }
  EXPECT_EQ(read, expected);
}

}  // namespace
