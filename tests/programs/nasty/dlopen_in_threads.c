// Threads that load and unload the library at the same time while others allocate.
//@ broken-by tls_dead
//@ arguments {bin}/nasty/lib_lifecycle.so
#include <dlfcn.h>
#include <pthread.h>
#include "../check.h"

static const char* path;

static void* load(void* argument) {
  for (int round = 0; round < 40; ++round) {
    void* library = dlopen(path, RTLD_LAZY);
    CHECK(library != NULL);
    char* (*make)(int) = (char* (*)(int))(uintptr_t)dlsym(library, "make_text");
    CHECK(make != NULL);
    char* text = make(round);
    CHECK(strlen(text) == (size_t)round);
    free(text);
    CHECK(dlclose(library) == 0);
    for (size_t i = 0; i < 300; ++i) free(malloc(i * 13));
  }
  return argument;
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  path = arguments[1];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, load, NULL) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
