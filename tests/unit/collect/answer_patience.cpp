// Tests how long a recorder waits for a thread of another process, which depends on what that does meanwhile.
#include "profiler/launch/answer_patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn::command {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Looks at a thread in this state each 50 ms, and returns after which time the patience is over. Its text changes at
// each look if it `is_active`.
std::chrono::milliseconds time_until_over(char state, bool is_active, const char* reason) {
  const answer_patience::time_point begun{};
  answer_patience patience(begun);
  auto now = begun;
  for (int look = 0; !patience.is_over(now) && now < begun + 100s; ++look) {
    now += answer_patience::pause;
    EXPECT_TRUE(patience.is_look_due(now));
    patience.look(state, is_active ? std::to_string(look) : "", now);
    EXPECT_FALSE(patience.is_look_due(now));
  }
  EXPECT_THAT(patience.reason(), HasSubstr(reason));
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - begun);
}

TEST(answer_patience, ends_soon_for_a_thread_that_sleeps_all_the_time) {
  EXPECT_EQ(time_until_over('S', false, "lock of the loader"), 5s);
  EXPECT_EQ(time_until_over('D', false, "a disk"), 5s);
}

TEST(answer_patience, goes_on_for_one_that_waits_for_a_processor_or_runs) {
  EXPECT_EQ(time_until_over('R', false, "a processor"), 30s);
  EXPECT_EQ(time_until_over('S', true, "sleeps"), 30s);
}

TEST(answer_patience, begins_anew_when_the_thread_has_run) {
  const answer_patience::time_point begun{};
  answer_patience patience(begun);
  patience.look('R', "1", begun + 4s);
  patience.look('S', "1", begun + 8s);
  EXPECT_FALSE(patience.is_over(begun + 8s));
  EXPECT_TRUE(patience.is_over(begun + 9s));
}

}  // namespace
}  // namespace tarn::command
