// Translates addresses of a recording to functions, files and lines.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/format/recording.hpp"
#include "profiler/symbols/jit_symbols.hpp"
#include "profiler/symbols/python_code.hpp"

namespace tarn::analyse {

struct code_location {
  std::string function = {};  // demangled; empty if it is not known
  std::string file = {};      // empty if there is no debug information
  int line = 0;
  std::string module = {};        // path
  std::uint64_t offset = 0;       // offset of the address in the module
  bool is_interpreter = false;    // the module is CPython's, and its stacks have Python's frames
  bool returns_no_block = false;  // it returns nothing that could point to a block, or was named as deciding
};

// Reads the files of the modules, and their separate debug files if elfutils finds them. Ignores a file with another
// build id than the recorded one. Only one thread at a time may use an object.
class symbols {
 public:
  // Functions that are called as one of `deciding` get `returns_no_block`.
  explicit symbols(const format::recording& recording, std::vector<std::string> deciding = {});
  symbols(const symbols&) = delete;
  symbols& operator=(const symbols&) = delete;
  ~symbols();

  // Returns the places of the call before a return address; functions that were inlined there come first. Cached.
  const std::vector<code_location>& resolve(std::uint32_t image, std::uint64_t frame);

  // Returns whether a function whose demangled name satisfies `is_wanted` is on a recorded stack of the heap, inlined
  // or not, or among the symbols of the recorded modules. Reads all stacks and symbols.
  bool has_function(const std::function<bool(const std::string&)>& is_wanted);
  // Returns the same for a source file: that of a function on such a stack, or one that a recorded module was made of.
  bool has_file(const std::function<bool(const std::string&)>& is_wanted);

 private:
  struct files;  // the files of one image
  files& files_of(std::uint32_t image);

  bool is_on_stack(const std::function<bool(const code_location&)>& is_wanted);

  const format::recording& recording_;
  std::vector<std::string> deciding_;
  std::map<std::uint32_t, std::unique_ptr<files>> images_;
  std::optional<python_codes> python_codes_;  // made for the first frame of Python
  std::optional<jit_symbols> jit_symbols_;    // read when an address is in no module
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<code_location>> resolved_;
};

}  // namespace tarn::analyse
