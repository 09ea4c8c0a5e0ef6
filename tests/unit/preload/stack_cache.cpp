// Checks that a cached stack is found again only while the words on it are the same.
#include "profiler/preload/stacks/stack_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace tarn::preload {
namespace {

class stack_cache_test : public testing::Test {
 protected:
  // Fills the slot as a walk does that reads all of them.
  void keep(stack_cache::cached_stack& slot, std::uint32_t site) {
    slot.reads = {};
    for (std::uintptr_t index = 0; index < std::size(stack_words); ++index)
      slot.reads.note(index * sizeof(std::uintptr_t), stack_words[index]);
    stack_cache::keep(slot, present(), site);
  }
  caller present() const { return {0x400100, reinterpret_cast<std::uintptr_t>(stack_words), 0}; }

  std::unique_ptr<stack_cache> cache = std::make_unique<stack_cache>();
  std::uintptr_t stack_words[6] = {1, 2, 3, 4, 5, 6};
};

TEST_F(stack_cache_test, a_stack_with_another_word_is_another_stack) {
  EXPECT_EQ(cache->find(present()), nullptr);
  keep(cache->slot_for(present()), 7);
  ASSERT_NE(cache->find(present()), nullptr);
  EXPECT_EQ(cache->find(present())->site, 7U);
  stack_words[5] = 60;
  EXPECT_EQ(cache->find(present()), nullptr);
}

TEST_F(stack_cache_test, a_hold_depends_on_its_acquisition_and_on_the_stack) {
  const acquisition_point acquisition = {0x400200, present().stack - 64};
  keep(cache->slot_for_hold(acquisition, present()), 8);
  EXPECT_EQ(cache->find(present()), nullptr) << "the stack itself is not known";
  ASSERT_NE(cache->find_hold(acquisition, present()), nullptr);
  EXPECT_EQ(cache->find_hold(acquisition, present())->later.site, 8U);
  EXPECT_EQ(cache->find_hold({acquisition.caller, acquisition.stack - 16}, present()), nullptr);
  EXPECT_EQ(cache->find_hold({acquisition.caller + 5, acquisition.stack}, present()), nullptr);
  stack_words[0] = 10;
  EXPECT_EQ(cache->find_hold(acquisition, present()), nullptr);
}

}  // namespace
}  // namespace tarn::preload
