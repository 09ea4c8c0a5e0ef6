// A library that allocates in constructors, destructors and thread-locals, loaded again and again.
//@ broken-by tls_dead
//@ arguments {bin}/nasty/lib_lifecycle.so
#include <dlfcn.h>
#include <pthread.h>
#include "../check.h"

static void* use(void* make) {
  char* text = ((char* (*)(int))(uintptr_t)make)(1000);
  CHECK(text != NULL && strlen(text) == 1000);
  free(text);
  return ((char* (*)(int))(uintptr_t)make)(77);
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  for (int round = 0; round < 100; ++round) {
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    void* make = dlsym(library, "make_text");
    CHECK(make != NULL);
    char* kept = use(make);
    pthread_t thread;
    void* of_thread = NULL;
    CHECK(pthread_create(&thread, NULL, use, make) == 0);
    CHECK(pthread_join(thread, &of_thread) == 0);
    CHECK(dlclose(library) == 0);
    CHECK(strlen(kept) == 77 && strlen(of_thread) == 77);  // blocks outlive the code that made them
    free(kept);
    free(of_thread);
  }
  CHECK(dlopen("/nowhere/no.so", RTLD_NOW) == NULL && strstr(dlerror(), "no.so"));
  return 0;
}
