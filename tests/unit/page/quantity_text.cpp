#include "profiler/base/quantity_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tarn::command {
namespace {

std::string figures(double low, double high) {
  const range_figures text = figures_of(low, high);
  return text.low + ", " + text.middle + ", " + text.high;
}

TEST(range_figures, have_no_digit_that_the_width_of_the_range_hides) {
  EXPECT_EQ(figures(1.9, 6.7), "2, 4, 7");
  EXPECT_EQ(figures(0.28, 18), "0.3, 9, 18") << "and no end is 0 that is not";
  EXPECT_EQ(figures(17.6, 18.9), "17.6, 18.2, 18.9");
  EXPECT_EQ(figures(1.21, 1.94), "1.2, 1.6, 1.9");
  EXPECT_EQ(figures(-0.7, 1.3), "-0.7, 0.3, 1.3");
  EXPECT_EQ(figures(0.001, 0.02), "0, 0.01, 0.02");
  EXPECT_EQ(figures(120, 480), "120, 300, 480");
  EXPECT_EQ(figures(0, 0.004), "0, 0, 0") << "the caller's words for less than 0.01 stand there";
}

TEST(range_figures, are_one_figure_where_the_ends_are_the_same_in_two_digits) {
  EXPECT_EQ(figures(12.1, 12.4), "12, 12, 12");
  EXPECT_EQ(figures(3.41, 3.43), "3.4, 3.4, 3.4");
}

}  // namespace
}  // namespace tarn::command
