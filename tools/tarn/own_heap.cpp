#include "tarn/own_heap.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tarn::command {
namespace {

bool has_malloc(const format::module_facts& of) { return (of.own_heap & format::own_malloc) != 0; }

}  // namespace

const format::module_facts* own_heap_in(const format::recording& in) {
  const format::module_facts* found = nullptr;
  for (const format::module_facts& each : in.modules) {
    if (each.own_heap == 0 || each.image + 1 != in.images) continue;
    if (found == nullptr || has_malloc(each)) found = &each;
  }
  return found;
}

bool records_heap(const format::recording& in) {
  const format::module_facts* const own = own_heap_in(in);
  return std::find(in.program.sources.begin(), in.program.sources.end(), "heap") != in.program.sources.end() &&
         (own == nullptr || !has_malloc(*own));
}

std::string own_heap_words(const format::module_facts& of) {
  if (has_malloc(of)) return fmt::format("{} has a malloc of its own: its heap was not recorded", of.path);
  return fmt::format(
      "{} has an operator new of its own: of what that serves, only what it takes from malloc was recorded", of.path);
}

}  // namespace tarn::command
