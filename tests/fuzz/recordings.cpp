// Replays the kept findings of ./dev fuzz recording, and changes of a good recording, from seeds. The sanitizers
// watch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include "fuzz/recording_input.hpp"
#include "profiler/format/reader.hpp"
#include "unit/format/example.hpp"

namespace tarn::fuzz {
namespace {

// The kept inputs, and the damage where reading each stops: an input that no longer reaches the code it broke proves
// nothing. "" means that the input is read to its end.
const std::map<std::string, std::string> kept_damage = {{"clock_out_of_range", ""}};

std::string kept_file(const std::string& name) {
  std::ifstream file(TARN_KEPT_INPUTS "/" + name, std::ios::binary);
  return file_from(std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST(broken_recordings, what_once_broke_something_breaks_nothing) {
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TARN_KEPT_INPUTS)) {
    const std::string name = entry.path().filename();
    SCOPED_TRACE(name);
    ASSERT_TRUE(kept_damage.contains(name));
    const std::string file = kept_file(name);
    EXPECT_EQ(format::parse(file).damage, kept_damage.at(name));
    examine(file);
    ++inputs;
  }
  EXPECT_EQ(inputs, kept_damage.size());
}

// The cast to an integer must not truncate a tick of 584 years, which may exceed the integer's range.
TEST(broken_recordings, a_clock_out_of_range_makes_no_time_beyond_its_limit) {
  const format::clock_facts clock = format::parse(kept_file("clock_out_of_range")).clock;
  ASSERT_EQ(clock, (format::clock_facts{1, ~0ULL}));
  EXPECT_EQ(format::nanoseconds(clock, 0), 0U);
  EXPECT_EQ(format::nanoseconds(clock, ~0ULL), 1'000'000'000'000'000'000U);
}

TEST(broken_recordings, changes_of_a_good_one_break_nothing) {
  const std::string good = input_from(format::file_of(format::example_recording()));
  ASSERT_EQ(input_from(file_from(good)), good);
  std::mt19937 random(2);
  const auto random_below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  for (int round = 0; round < 500; ++round) {
    std::string input = good;
    for (std::size_t changes = 1 + random_below(3); changes > 0; --changes) {
      const std::size_t position = 1 + random_below(input.size() - 1);
      switch (random_below(3)) {
        case 0: input[position] = static_cast<char>(random_below(256)); break;
        case 1: input.insert(position, 1 + random_below(9), static_cast<char>(random_below(2) * 255)); break;
        default: input.erase(position, 1 + random_below(3)); break;
      }
      if (input.size() < 2) input = good;
    }
    examine(file_from(input));
  }
}

}  // namespace
}  // namespace tarn::fuzz
