// The target of ./dev fuzz: libFuzzer finds the bytes.
#include <cstddef>
#include <cstdint>

#include "fuzz/interpreter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  fuzz::interpreter({bytes, count}).play();
  return 0;
}
