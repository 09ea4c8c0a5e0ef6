// What ./dev fuzz recording found, kept; and changes of a good recording, from seeds. The sanitizers watch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "fuzz/recording_input.hpp"
#include "unit/format/example.hpp"

namespace tarn::fuzz {
namespace {

TEST(broken_recordings, what_once_broke_something_breaks_nothing) {
  std::size_t inputs = 0;
  for (const auto& each : std::filesystem::directory_iterator(TARN_KEPT_INPUTS)) {
    SCOPED_TRACE(each.path());
    std::ifstream file(each.path(), std::ios::binary);
    examine(file_from(std::string(std::istreambuf_iterator<char>(file), {})));
    ++inputs;
  }
  EXPECT_GT(inputs, 0U);
}

TEST(broken_recordings, changes_of_a_good_one_break_nothing) {
  const std::string good = input_from(format::file_of(format::example_recording()));
  ASSERT_EQ(input_from(file_from(good)), good);
  std::mt19937 random(2);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  for (int round = 0; round < 500; ++round) {
    std::string input = good;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = 1 + below(input.size() - 1);
      switch (below(3)) {
        case 0: input[at] = static_cast<char>(below(256)); break;
        case 1: input.insert(at, 1 + below(9), static_cast<char>(below(2) * 255)); break;
        default: input.erase(at, 1 + below(3)); break;
      }
      if (input.size() < 2) input = good;
    }
    examine(file_from(input));
  }
}

}  // namespace
}  // namespace tarn::fuzz
