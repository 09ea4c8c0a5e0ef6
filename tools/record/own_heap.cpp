// A program may have malloc or operator new of its own, which take precedence over ours: then that is noted, as nothing
// else tells a heap that was not seen from one that was not used.
#include <dlfcn.h>

#include "record/entry.hpp"
#include "record/sites.hpp"

namespace tarn::record {
namespace {

const link_map* module_of(const void* function) noexcept {
  dl_find_object where;
  const bool is_found = ::_dl_find_object(const_cast<void*>(function), &where) == 0;
  return is_found ? where.dlfo_link_map : nullptr;
}

// What the program calls by that name; null where it is ours, or none is there.
const void* others(const char* name) noexcept {
  const void* found;
  {
    const unseen now;
    found = ::dlsym(RTLD_DEFAULT, name);
  }
  const auto ours = reinterpret_cast<const void*>(&note_own_heap);
  return found == nullptr || module_of(found) == module_of(ours) ? nullptr : found;
}

[[gnu::constructor(103)]] void look() noexcept {
  if (!records()) return;
  const void* const malloc = others("malloc");
  const void* const operator_new = others("_Znwm");
  const bool are_together =
      malloc != nullptr && operator_new != nullptr && module_of(malloc) == module_of(operator_new);
  if (malloc != nullptr) note_own_heap(malloc, format::own_malloc | (are_together ? format::own_new : 0));
  if (operator_new != nullptr && !are_together) note_own_heap(operator_new, format::own_new);
}

}  // namespace
}  // namespace tarn::record
