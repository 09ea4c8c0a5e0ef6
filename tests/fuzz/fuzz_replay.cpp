// A target of ./dev fuzz: the heap operations of threads. Whatever they are, their replay releases each block once,
// and to the allocator that returned it.
#include <cstddef>
#include <cstdint>

#include "fuzz/replay_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  tarn::fuzz::replay_trace({reinterpret_cast<const char*>(bytes), count});
  return 0;
}
