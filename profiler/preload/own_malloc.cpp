#include "profiler/preload/own_malloc.hpp"

#include <dlfcn.h>
#include <link.h>

#include "profiler/preload/base/loaded_module.hpp"
#include "profiler/preload/entry.hpp"
#include "profiler/preload/next.hpp"
#include "profiler/preload/records/modules.hpp"

namespace tarn::preload {
namespace {

constinit const void* own_malloc = nullptr;
constinit const void* own_new = nullptr;

const void* module_of(const void* function) noexcept {
  dl_find_object object;
  const bool is_found = ::_dl_find_object(const_cast<void*>(function), &object) == 0;
  return is_found ? object.dlfo_link_map : nullptr;
}

// Returns the function that the program calls by that name; null when it is ours, or there is none.
const void* foreign_function(const char* name) noexcept {
  const void* const function = ::dlsym(RTLD_DEFAULT, name);
  const auto ours = reinterpret_cast<const void*>(&note_own_malloc_anew);
  const bool is_own = function != nullptr && module_of(function) != module_of(ours) && is_definition(function);
  return is_own ? function : nullptr;
}

// Returns the function of the name that the program's own file defines; null if it has none.
const void* function_of_file(const char* name) noexcept {
  const void* const function = foreign_function(name);
  dl_find_object object;
  const bool is_found = function != nullptr && ::_dl_find_object(const_cast<void*>(function), &object) == 0;
  return is_found && object.dlfo_link_map->l_name[0] == '\0' ? function : nullptr;
}

// The library that serves the program's heap, which is on no stack. The report prices its calls by it. The C library
// needs no note.
void note_serving_malloc() noexcept {
  const allocator* const serving = next();
  if (serving == nullptr || own_malloc != nullptr) return;
  const auto function = reinterpret_cast<const void*>(serving->malloc);
  if (module_of(function) != module_of(reinterpret_cast<const void*>(&::dlsym))) note_module_of(function, 0);
}

// Runs as part of the recorder: otherwise a signal's handler could wait for the lock that is held here.
[[gnu::constructor(103)]] void look() noexcept {
  if (!records()) return;
  const hidden_thread hidden;
  own_malloc = foreign_function("malloc");
  own_new = foreign_function("_Znwm");
  note_own_malloc_anew();
}

}  // namespace

void note_own_malloc_of_program() noexcept {
  const hidden_thread hidden;
  own_malloc = function_of_file("malloc");
  own_new = function_of_file("_Znwm");
  note_own_malloc_anew();
}

void note_own_malloc_anew() noexcept {
  note_serving_malloc();
  const bool are_together = own_malloc != nullptr && own_new != nullptr && module_of(own_malloc) == module_of(own_new);
  if (own_malloc != nullptr) note_module_of(own_malloc, format::own_malloc | (are_together ? format::own_new : 0));
  if (own_new != nullptr && !are_together) note_module_of(own_new, format::own_new);
}

}  // namespace tarn::preload
