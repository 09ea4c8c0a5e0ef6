// A target of ./dev fuzz: the content of a recording. Whatever it is, reading and evaluating it ends, stays inside
// its memory, and reports nothing that was not read.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "fuzz/recording_input.hpp"
#include "unit/format/example.hpp"

namespace {

constexpr std::size_t max_bytes = 64 * 1024;

}  // namespace

// The first input is a good recording with an entry of each kind. The folder of inputs is the last argument.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::string file = tarn::format::file_of(tarn::format::example_recording());
  const std::string folder = (*arguments)[*count - 1];
  std::ofstream(folder + "/whole", std::ios::binary) << tarn::fuzz::input_from(file);
  std::ofstream(folder + "/as_it_is", std::ios::binary) << '\0' << file;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count > max_bytes) return 0;
  tarn::fuzz::examine(tarn::fuzz::file_from({reinterpret_cast<const char*>(bytes), count}));
  return 0;
}
