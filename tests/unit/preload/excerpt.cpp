// Tests which threads record excerpts.
#include "profiler/preload/excerpt.hpp"

#include <gtest/gtest.h>

namespace tarn::preload {
namespace {

TEST(excerpt, only_the_first_threads_record_any) {
  for (std::uint32_t number = 0; number < 3 * format::max_excerpted; ++number) {
    trace_excerpt excerpt{};
    excerpt.set_up(number);
    format::thread_record counts{};
    EXPECT_FALSE(excerpt.is_due(counts)) << number;
    counts.allocations = format::excerpt_capacity;
    EXPECT_EQ(excerpt.is_due(counts), number < format::max_excerpted) << number;
    counts.allocations = ~std::uint64_t{0} - 1;
    EXPECT_EQ(excerpt.is_due(counts), number < format::max_excerpted) << number;
  }
}

}  // namespace
}  // namespace tarn::preload
