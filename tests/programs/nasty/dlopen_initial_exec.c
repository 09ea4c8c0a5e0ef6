// The drop-in loaded by dlopen after a library took 1 KiB of the static thread-local block: it fits.
//@ no-preload
//@ tarn-only
//@ broken-by nothing
//@ arguments {bin}/nasty/lib_initial_exec.so {library}
#include <dlfcn.h>
#include <pthread.h>
#include "../check.h"

static void* (*make)(size_t);
static void (*release)(void*);

static void* use(void* argument) {
  int (*count)(void) = (int (*)(void))(uintptr_t)argument;
  CHECK(count() == 1 && count() == 2);
  void* p = make(1000);
  CHECK(p != NULL);
  release(p);
  return NULL;
}

static void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) dprintf(2, "%s\n", dlerror());
  CHECK(library != NULL);
  return library;
}

int main(int count, char** arguments) {
  CHECK(count == 3);
  void* function = dlsym(load(arguments[1]), "count_calls");
  void* library = load(arguments[2]);
  make = (void* (*)(size_t))(uintptr_t)dlsym(library, "malloc");
  release = (void (*)(void*))(uintptr_t)dlsym(library, "free");
  use(function);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use, function) == 0 && pthread_join(thread, NULL) == 0);
  return 0;
}
