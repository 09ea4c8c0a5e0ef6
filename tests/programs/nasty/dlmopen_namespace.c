// A library in a namespace of its own has its own C library and malloc; both heaps work.
//@ broken-by malloc_short
//@ arguments {bin}/nasty/lib_initial_exec.so
#include <dlfcn.h>
#include "../check.h"

int main(int count, char** arguments) {
  CHECK(count == 2);
  void* library = dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW);
  if (library == NULL) dprintf(2, "%s\n", dlerror());
  CHECK(library != NULL);
  int (*call)(void) = (int (*)(void))(uintptr_t)dlsym(library, "count_calls");
  for (int i = 1; i < 1000; ++i) {
    char* p = malloc((size_t)i);
    fill(p, (size_t)i, 1);
    CHECK(call() == i && is_filled(p, (size_t)i, 1));
    free(p);
  }
  CHECK(dlclose(library) == 0);
  return 0;
}
