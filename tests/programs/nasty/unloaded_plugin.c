// A plugin with the heaps linked inside is closed before the thread that used it ends: linked as CMake and pkg-config
// say it stays (-z nodelete); linked otherwise it goes, and the thread's end must not call what is gone.
//@ tarn-only
//@ no-preload
//@ arguments {bin}/nasty/lib_plugin.so {bin}/nasty/lib_plugin_bare.so
//@ broken-by text
#include <dlfcn.h>
#include <pthread.h>
#include "../check.h"

static pthread_barrier_t barrier;

static void* use(void* works) {
  ((void (*)(void))(uintptr_t)works)();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void use_and_close(const char* file, int stays) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use, dlsym(library, "plugin_works")) == 0);
  pthread_barrier_wait(&barrier);
  CHECK(dlclose(library) == 0);
  CHECK((dlopen(file, RTLD_NOW | RTLD_NOLOAD) != NULL) == stays);
  pthread_barrier_wait(&barrier);
  CHECK(pthread_join(thread, NULL) == 0);
}

int main(int count, char** arguments) {
  CHECK(count == 3 && pthread_barrier_init(&barrier, NULL, 2) == 0);
  use_and_close(arguments[1], 1);
  use_and_close(arguments[2], 0);
  use_and_close(arguments[2], 0);
  return 0;
}
