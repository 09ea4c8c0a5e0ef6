// The whole family comes from the drop-in: one function left to the C library would mix two heaps.
//@ tarn-only
//@ broken-by nothing
#include <dlfcn.h>
#include "../check.h"

int main(void) {
  static const char* const names[] = {
      "malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "posix_memalign", "memalign", "valloc",
      "pvalloc", "malloc_usable_size", "malloc_trim", "mallopt", "mallinfo", "mallinfo2", "malloc_stats", "malloc_info",
      // operator new and new[]: plain, nothrow, aligned, aligned nothrow
      "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
      "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
      // operator delete and delete[]: plain, nothrow, sized, aligned, aligned nothrow, sized aligned
      "_ZdlPv", "_ZdaPv", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t",
      "_ZdaPvSt11align_val_t", "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t",
      "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t"};
  int missing = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    Dl_info info = {0};
    void* symbol = dlsym(RTLD_DEFAULT, names[i]);
    if (symbol && dladdr(symbol, &info) && strstr(info.dli_fname, "libtarn-malloc")) continue;
    dprintf(2, "%s is from %s\n", names[i], symbol ? info.dli_fname : "nowhere");
    ++missing;
  }
  CHECK(missing == 0);
  return 0;
}
