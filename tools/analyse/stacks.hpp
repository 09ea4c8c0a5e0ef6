#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyse/symbols.hpp"

namespace tarn::analyse {

// Which frames are the C library's, that of C++ or the recorder's: by their modules, without names.
class own_code {
 public:
  explicit own_code(const format::recording& in) : recording_(in) {}

  // The site's stack up to the first frame that is none of these.
  std::vector<std::uint64_t> inner_frames(std::uint32_t site);

  // The name of its file, where that frame is in one; else empty.
  std::string installed_library(std::uint32_t site);

 private:
  const format::module_facts* module_at(std::uint32_t image, std::uint64_t frame);

  const format::recording& recording_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, const format::module_facts*> known_;
};

// By its path: a shared library of the system.
bool is_installed_library(const std::string& module);

// Of a stack: its first place that is none of these; 0 where all are.
std::size_t own_place(const std::vector<place>& stack);

// The call stack of a site, innermost first, without the recorder's own frames.
std::vector<place> stack_at(const format::recording& in, std::uint32_t site, symbols& by);

}  // namespace tarn::analyse
