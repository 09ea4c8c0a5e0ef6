#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/symbols/symbols.hpp"

namespace tarn::analyse {

// Recognises frames of the C library, the C++ library and the recorder by their modules, without names.
class own_code {
 public:
  explicit own_code(const format::recording& recording) : recording_(recording) {}

  // Returns the stack of the site up to the first frame outside these modules.
  const std::vector<std::uint64_t>& inner_frames(std::uint32_t site);

  // Returns whether the frame is in one of these modules.
  bool is_runtime_code(std::uint32_t image, std::uint64_t frame);
  // Returns whether it is in the interpreter of Python.
  bool is_interpreter(std::uint32_t image, std::uint64_t frame);

  // Returns the file name of the installed library that contains that frame; empty if there is none.
  std::string installed_library(std::uint32_t site);

 private:
  const format::module_facts* module_at(std::uint32_t image, std::uint64_t frame);

  const format::recording& recording_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, const format::module_facts*> modules_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> inner_frames_;  // by site
};

// Returns whether a module is a shared library of the system, judged by its path.
bool is_installed_library(const std::string& module);

// Returns whether the place is in one of these libraries, in a header of the system, or in the code that starts a
// program or a thread.
bool is_runtime_code(const code_location& location);
// Returns the index of the first place that is not; 0 if there is none.
std::size_t own_frame_index(const std::vector<code_location>& stack);

// Returns the call stack of a site, innermost first, without the recorder's frames.
std::vector<code_location> stack_at(const format::recording& recording, std::uint32_t site, symbols& symbols);

}  // namespace tarn::analyse
