// Checks that a chain of Python frames is taken for the same only while nothing has changed that its reading depends
// on.
#include "profiler/preload/records/python_chains.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>

namespace tarn::preload {
namespace {

constexpr const format::python_layout& layout = format::python_layouts[0];

// Three frames in two activations, and what lies at their addresses.
class python_chains_test : public testing::Test {
 protected:
  struct alignas(8) object {
    unsigned char bytes[128];
  };
  static void set(object& target, std::uint32_t offset, std::uintptr_t value) {
    std::memcpy(target.bytes + offset, &value, sizeof value);
  }
  static std::uintptr_t address_of(const object& target) { return reinterpret_cast<std::uintptr_t>(&target); }

  void SetUp() override {
    for (int index = 0; index < frame_count; ++index) {
      set(frames[index], layout.frame_code, 0x1000 + index * 16);
      set(frames[index], layout.frame_instruction, 0x5000 + index * 2);
      set(frames[index], layout.frame_previous, index + 1 == frame_count ? 0 : address_of(frames[index + 1]));
    }
    frames[1].bytes[layout.frame_end] = layout.end_value;
    frames[2].bytes[layout.frame_end] = layout.end_value;
    set(activations[0], layout.activation_previous, address_of(activations[1]));
    set(activations[1], layout.activation_previous, 0x7000);
    read();
  }
  void read(std::uint64_t freed_codes = 1) {
    chain->begin(address_of(activations[0]));
    chain->add_outer_activation(address_of(activations[1]));
    for (const object& frame : frames)
      chain->add_frame(address_of(frame), python_word(address_of(frame) + layout.frame_code),
                       python_word(address_of(frame) + layout.frame_instruction),
                       is_python_end(layout, address_of(frame)));
    chain->add_outer_activation(0x7000);
    chain->keep(0, freed_codes, 77);
  }
  bool is_unchanged(std::uint64_t freed_codes = 1) const {
    return chain->is_unchanged<0>(address_of(activations[0]), address_of(frames[0]), freed_codes);
  }

  static constexpr int frame_count = 3;
  object frames[frame_count] = {}, activations[2] = {};
  std::unique_ptr<python_chain> chain = std::make_unique<python_chain>();
};

TEST_F(python_chains_test, an_equal_chain_is_known) {
  EXPECT_TRUE(is_unchanged());
  EXPECT_EQ(chain->hash(), 77U);
  set(frames[0], 0, 5);  // a part that does not matter
  EXPECT_TRUE(is_unchanged());
}

TEST_F(python_chains_test, each_word_counts) {
  for (object& frame : frames) {
    for (const std::uint32_t offset : {layout.frame_code, layout.frame_instruction, layout.frame_previous}) {
      const std::uintptr_t before = python_word(address_of(frame) + offset);
      set(frame, offset, before + 8);
      EXPECT_FALSE(is_unchanged()) << offset;
      set(frame, offset, before);
      EXPECT_TRUE(is_unchanged());
    }
    frame.bytes[layout.frame_end] ^= 1;
    EXPECT_FALSE(is_unchanged());
    frame.bytes[layout.frame_end] ^= 1;
  }
  for (object& activation : activations) {
    const std::uintptr_t before = python_word(address_of(activation) + layout.activation_previous);
    set(activation, layout.activation_previous, before + 8);
    EXPECT_FALSE(is_unchanged());
    set(activation, layout.activation_previous, before);
  }
  EXPECT_TRUE(is_unchanged());
}

TEST_F(python_chains_test, another_beginning_is_another_chain) {
  EXPECT_FALSE(chain->is_unchanged<0>(address_of(activations[1]), address_of(frames[0]), 1));
  EXPECT_FALSE(chain->is_unchanged<0>(address_of(activations[0]), address_of(frames[1]), 1));
}

TEST_F(python_chains_test, a_freed_code_object_makes_all_unknown) {
  EXPECT_FALSE(is_unchanged(2));
  read(0);  // nobody counts them
  EXPECT_FALSE(is_unchanged(0));
}

TEST_F(python_chains_test, a_chain_that_cannot_be_remembered_is_not_known) {
  chain->begin(address_of(activations[0]));
  EXPECT_FALSE(is_unchanged()) << "it is not complete";
  chain->add_frame(address_of(frames[0]), 1, 2, true);
  chain->forget();
  chain->keep(0, 1, 77);
  EXPECT_FALSE(is_unchanged());

  for (const int count : {40, 41}) {
    chain->begin(address_of(activations[0]));
    for (int index = 0; index < count; ++index) {
      chain->add_frame(address_of(frames[0]), python_word(address_of(frames[0]) + layout.frame_code),
                       python_word(address_of(frames[0]) + layout.frame_instruction), false);
    }
    set(frames[0], layout.frame_previous, address_of(frames[0]));
    chain->keep(address_of(frames[0]), 1, 77);
    EXPECT_EQ(is_unchanged(), count == 40);
  }
}

TEST_F(python_chains_test, frames_elsewhere_are_forgotten_with_another_block) {
  met_python_frames met = {};
  EXPECT_FALSE(met.has(0x100, 0x4000));
  met.add(0x100, 0x4000);
  EXPECT_TRUE(met.has(0x100, 0x4000));
  EXPECT_FALSE(met.has(0x100, 0x4010));
  EXPECT_FALSE(met.has(0x200, 0x4000));
  met.add(0x200, 0x4010);
  met.add(0x100, 0x4020);
  EXPECT_FALSE(met.has(0x100, 0x4000));
}

}  // namespace
}  // namespace tarn::preload
