#include "profiler/findings/heap/own_heap.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tarn::command {
namespace {

bool has_malloc(const format::module_facts& module) { return (module.own_heap & format::own_malloc) != 0; }

}  // namespace

const format::module_facts* own_heap_in(const format::recording& recording) {
  const format::module_facts* match = nullptr;
  for (const format::module_facts& module : recording.modules) {
    if (module.own_heap == 0 || module.image + 1 != recording.images) continue;
    if (match == nullptr || has_malloc(module)) match = &module;
  }
  return match;
}

bool records_heap(const format::recording& recording) {
  const format::module_facts* const module = own_heap_in(recording);
  return std::find(recording.program.sources.begin(), recording.program.sources.end(), "heap") !=
             recording.program.sources.end() &&
         (module == nullptr || !has_malloc(*module));
}

std::string own_heap_text(const format::module_facts& module) {
  if (has_malloc(module)) return fmt::format("{} has a malloc of its own: its heap was not recorded", module.path);
  return fmt::format(
      "{} has an operator new of its own: of what that serves, only what it takes from malloc was recorded",
      module.path);
}

}  // namespace tarn::command
