// A program that is linked with the drop-in: prints the library that its malloc and operator new come from.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <memory>

int main() {
  for (const char* const name : {"malloc", "_Znwm"}) {
    Dl_info library{};
    if (dladdr(dlsym(RTLD_DEFAULT, name), &library) == 0) return 1;
    const char* const slash = std::strrchr(library.dli_fname, '/');
    std::puts(slash ? slash + 1 : library.dli_fname);
  }
  return *std::make_unique<int>(0);
}
