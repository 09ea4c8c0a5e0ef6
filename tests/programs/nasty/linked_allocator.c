// A program linked against the drop-in instead of preloading it.
//@ no-preload
//@ tarn-only
//@ broken-by nothing
#include <dlfcn.h>
#include "../check.h"

int main(void) {
  Dl_info info = {0};
  void* symbol = dlsym(RTLD_DEFAULT, "malloc");
  CHECK(symbol != NULL && dladdr(symbol, &info) && strstr(info.dli_fname, "libtarn-malloc"));
  char* p = strdup("tarn");
  CHECK(p != NULL && malloc_usable_size(p) >= 5);
  free(p);
  return 0;
}
