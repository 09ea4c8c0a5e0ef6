// A program that is not static and has the drop-in inside: its libraries and plugins use it, too.
//@ no-preload
//@ tarn-only
//@ broken-by text
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>
#include <initializer_list>
#include <new>
#include "../check.h"

// Returns whether a function that libraries call is in this program.
static bool is_inside(const char* name) {
  Dl_info information = {}, program = {};
  void* const function = dlsym(RTLD_DEFAULT, name);
  return function != nullptr && dladdr(function, &information) != 0 &&
         dladdr(reinterpret_cast<void*>(is_inside), &program) != 0 && information.dli_fbase == program.dli_fbase;
}

int main() {
  for (const char* name : {"malloc", "free", "realloc", "aligned_alloc", "malloc_usable_size", "setuid", "prctl"}) {
    if (!is_inside(name)) fprintf(stderr, "%s is a library's\n", name);
    CHECK(is_inside(name));
  }
  char* const text = strdup("tarn");  // the C library allocates it
  void* const block = malloc(strlen(text) + 1);
  CHECK(malloc_usable_size(text) == malloc_usable_size(block));
  char* const letters = new char[strlen(text) + 1];
  CHECK(malloc_usable_size(letters) == malloc_usable_size(block));
  delete[] letters;
  free(text);
  free(block);
  bool is_thrown = false;
  const volatile size_t too_many = SIZE_MAX / 4;
  try {
    delete[] new char[too_many];
  } catch (const std::bad_alloc&) {
    is_thrown = true;
  }
  CHECK(is_thrown);
  CHECK(setuid(getuid()) == 0);
  return 0;
}
