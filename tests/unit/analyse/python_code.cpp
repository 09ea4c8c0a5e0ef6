// Lines of Python's instructions.
#include "profiler/symbols/python_code.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tarn::analyse {
namespace {

format::python_code_facts code_of(std::string lines) {
  return {
      .image = 1, .start = 1000, .bytes = 40, .line = 10, .file = "f.py", .function = "f", .lines = std::move(lines)};
}

// The first byte of an entry for some instructions.
char head(unsigned form, unsigned instructions) { return static_cast<char>(0x80 | form << 3 | (instructions - 1)); }

TEST(python_code, each_form_of_an_entry_has_its_line) {
  std::string lines;
  lines += head(15, 1);                                               // no line
  lines += {head(13, 2), 2 << 1};                                     // two lines down
  lines += {head(0, 1), 0x12};                                        // the same line
  lines += {head(11, 1), 1, 2};                                       // one line down
  lines += {head(12, 1), 1, 2};                                       // two lines down
  lines += {head(14, 8), 3 << 1 | 1, 0, 1, 2};                        // three lines up
  lines += {head(13, 1), (0x40 | (100 << 1 & 0x3f)), 100 << 1 >> 6};  // a hundred lines down
  const format::python_code_facts code = code_of(lines);
  const int expected[] = {10, 12, 12, 12, 13, 15};
  for (unsigned index = 0; index < 6; ++index) EXPECT_EQ(line_at(code, index * 2), expected[index]) << index;
  EXPECT_EQ(line_at(code, 12), 12);
  EXPECT_EQ(line_at(code, 27), 12);
  EXPECT_EQ(line_at(code, 28), 112);
  EXPECT_EQ(line_at(code, 30), 10);  // beyond the table
}

TEST(python_code, a_table_that_is_cut_or_damaged_gives_some_line) {
  EXPECT_EQ(line_at(code_of(""), 0), 0);
  EXPECT_EQ(line_at(code_of(std::string(1, head(13, 1))), 0), 10);
  EXPECT_EQ(line_at(code_of(std::string{head(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f}), 0), 10);
  EXPECT_EQ(line_at(code_of(std::string{head(13, 1), 100 << 1 >> 2 | 1}), 0), 10);  // above the first line of a file
  EXPECT_EQ(line_at(code_of(std::string(100, 1)), 4), 10);
}

TEST(python_code, an_address_belongs_to_the_code_of_its_image) {
  const std::vector<format::python_code_facts> facts = {
      code_of(""), {1, 1042, 10, 1, "", "g", ""}, {2, 1000, 4, 1, "", "h", ""}};
  const python_codes codes(facts);
  EXPECT_EQ(codes.find(1, 999), nullptr);
  EXPECT_EQ(codes.find(1, 1000), &facts[0]);
  EXPECT_EQ(codes.find(1, 1039), &facts[0]);
  EXPECT_EQ(codes.find(1, 1040), nullptr);
  EXPECT_EQ(codes.find(1, 1051), &facts[1]);
  EXPECT_EQ(codes.find(2, 1003), &facts[2]);
  EXPECT_EQ(codes.find(2, 1042), nullptr);
  EXPECT_EQ(codes.find(0, 1000), nullptr);
}

}  // namespace
}  // namespace tarn::analyse
