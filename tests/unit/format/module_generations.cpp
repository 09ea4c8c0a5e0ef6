// Modules that had the same addresses one after the other are told apart.
#include "profiler/format/module_generations.hpp"

#include <gtest/gtest.h>

#include "profiler/format/generations.hpp"

namespace tarn::format {
namespace {

module_facts module_at(std::uint64_t start, std::uint64_t end, const char* path) {
  return {0, start, end, start, path, path};
}

TEST(module_generations, the_first_module_keeps_its_addresses) {
  std::vector<module_facts> modules;
  EXPECT_EQ(add_in_turn(modules, module_at(0x1000, 0x2000, "/a.so")), 0U);
  EXPECT_EQ(add_in_turn(modules, module_at(0x2000, 0x3000, "/b.so")), 0U);
  EXPECT_EQ(modules[1].start, 0x2000U);
}

TEST(module_generations, a_later_module_at_a_part_of_the_addresses_has_the_next_one) {
  std::vector<module_facts> modules;
  add_in_turn(modules, module_at(0x1000, 0x3000, "/a.so"));
  EXPECT_EQ(add_in_turn(modules, module_at(0x2000, 0x4000, "/b.so")), 1U);
  EXPECT_EQ(add_in_turn(modules, module_at(0x2000, 0x3000, "/c.so")), 2U);
  EXPECT_EQ(modules[2].start, in_generation(0x2000, 2));
  EXPECT_EQ(modules[2].end, in_generation(0x3000, 2));
  EXPECT_EQ(modules[2].bias, in_generation(0x2000, 2));
  EXPECT_TRUE(share_addresses(modules[0], modules[2]));
  module_facts in_next_image = module_at(0x2000, 0x3000, "/c.so");
  in_next_image.image = 1;
  EXPECT_EQ(add_in_turn(modules, in_next_image), 0U);
}

TEST(module_generations, a_module_that_comes_again_has_its_former_one) {
  std::vector<module_facts> modules;
  add_in_turn(modules, module_at(0x1000, 0x2000, "/a.so"));
  add_in_turn(modules, module_at(0x1000, 0x2000, "/b.so"));
  EXPECT_EQ(add_in_turn(modules, module_at(0x1000, 0x2000, "/a.so")), 0U);
  EXPECT_EQ(add_in_turn(modules, module_at(0x1000, 0x2000, "/b.so")), 1U);
  EXPECT_EQ(modules.size(), 2U);
  module_facts replaced_file = module_at(0x1000, 0x2000, "/b.so");
  replaced_file.build_id = "new";
  EXPECT_EQ(add_in_turn(modules, replaced_file), 2U);
}

}  // namespace
}  // namespace tarn::format
