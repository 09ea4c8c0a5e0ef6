// A report counts each thread once: those with a row, those before them in the row, and those that samples alone know.
#include <gtest/gtest.h>

#include "profiler/findings/time/thread_roles.hpp"
#include "profiler/format/counts.hpp"

namespace {

using namespace tarn;

TEST(thread_count, has_the_earlier_threads_of_a_row) {
  format::recording recording;
  recording.images = 1;
  recording.threads = {{.id = 10}, {.id = 11, .predecessors = 3}};
  EXPECT_EQ(command::count_of_threads(recording), 5u);
}

TEST(thread_count, has_no_earlier_thread_twice_that_samples_know_too) {
  format::recording recording;
  recording.images = 1;
  recording.threads = {{.id = 10},
                       {.id = 11, .predecessors = 2},
                       {.id = 12, .is_sampled_alone = true},
                       {.id = 13, .is_sampled_alone = true}};
  EXPECT_EQ(command::count_of_threads(recording), 4u);
  recording.threads.push_back({.id = 14, .is_sampled_alone = true});
  EXPECT_EQ(command::count_of_threads(recording), 5u) << "one that the recorder did not see";
}

TEST(thread_count, leaves_out_the_row_of_ended_threads) {
  format::recording recording;
  recording.images = 1;
  recording.threads.resize(format::ended_threads + 1);
  for (std::uint32_t number = 0; number < format::ended_threads; ++number) recording.threads[number].id = 100 + number;
  EXPECT_EQ(command::count_of_threads(recording), format::ended_threads);
}

TEST(thread_count, of_a_later_file_is_of_the_threads_that_did_something) {
  format::recording recording;
  recording.images = 1;
  recording.program.is_late = true;
  recording.threads = {{.id = 10}, {.id = 11}, {.id = 12, .frees = 1}, {.id = 13}};
  recording.acquisitions[{1, 3, 0}][format::acquisitions] = 1;
  EXPECT_EQ(command::count_of_threads(recording), 2u);
}

}  // namespace
