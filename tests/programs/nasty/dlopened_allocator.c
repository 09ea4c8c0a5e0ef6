// The drop-in loaded by dlopen into a program on the system's malloc: its own heap, called by name.
//@ no-preload
//@ tarn-only
//@ broken-by malloc_short
//@ arguments {library}
#include <dlfcn.h>
#include <pthread.h>
#include "../check.h"

static void* (*make)(size_t);
static void (*release)(void*);

static void* use(void* argument) {
  for (size_t size = 1; size < 2000000; size = size * 2 + 1) {
    void* ours = malloc(size);
    void* theirs = make(size);
    CHECK(ours != NULL && theirs != NULL);
    fill(theirs, size, 3);
    free(ours);
    CHECK(is_filled(theirs, size, 3));
    release(theirs);
  }
  return argument;
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) dprintf(2, "%s\n", dlerror());
  CHECK(library != NULL);
  make = (void* (*)(size_t))(uintptr_t)dlsym(library, "malloc");
  release = (void (*)(void*))(uintptr_t)dlsym(library, "free");
  CHECK(make != NULL && make != malloc && release != NULL);
  pthread_t thread;
  use(NULL);
  CHECK(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0);
  return 0;
}
