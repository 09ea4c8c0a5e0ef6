// Runs operation sequences drawn from a seed: a small part of the search of ./dev fuzz on every test run.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "fuzz/interpreter.hpp"

namespace {

class sequences : public testing::TestWithParam<std::uint32_t> {};

TEST_P(sequences, keep_every_byte) {
  std::minstd_rand random(GetParam());
  std::vector<std::uint8_t> bytes(GetParam() % 4 == 0 ? 20'000 : 4'000);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() >> 8);
  fuzz::interpreter(bytes).play();
}

INSTANTIATE_TEST_SUITE_P(seeds, sequences, testing::Range(1u, 13u));

}  // namespace
