// Libraries that are loaded and unloaded.
#include <dlfcn.h>
#include <pthread.h>

#include "../cases.h"

// A library in a namespace of its own has its own C library and malloc; both heaps work.
//@ broken-by malloc_short
//@ arguments {bin}/nasty/lib_initial_exec.so
CASE(dlmopen_namespace) {
  CHECK(argument_count == 2);
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
}

static const char* path;

static void* load_often(void* argument) {
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

// Threads that load and unload the library at the same time while others allocate.
//@ broken-by tls_dead
//@ arguments {bin}/nasty/lib_lifecycle.so
CASE(dlopen_in_threads) {
  CHECK(argument_count == 2);
  path = arguments[1];
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, load_often, NULL) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void* (*make)(size_t);

static void (*release)(void*);

static void* use_counted(void* argument) {
  int (*count)(void) = (int (*)(void))(uintptr_t)argument;
  CHECK(count() == 1 && count() == 2);
  void* p = make(1000);
  CHECK(p != NULL);
  release(p);
  return NULL;
}

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) dprintf(2, "%s\n", dlerror());
  CHECK(library != NULL);
  return library;
}

// The drop-in loaded by dlopen after a library took 1 KiB of the static thread-local block: it fits.
//@ no-preload
//@ tarn-only
//@ broken-by nothing
//@ arguments {bin}/nasty/lib_initial_exec.so {library}
CASE(dlopen_initial_exec) {
  CHECK(argument_count == 3);
  void* function = dlsym(open_library(arguments[1]), "count_calls");
  void* library = open_library(arguments[2]);
  make = (void* (*)(size_t))(uintptr_t)dlsym(library, "malloc");
  release = (void (*)(void*))(uintptr_t)dlsym(library, "free");
  use_counted(function);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use_counted, function) == 0 && pthread_join(thread, NULL) == 0);
}

static void* make_texts(void* make) {
  char* text = ((char* (*)(int))(uintptr_t)make)(1000);
  CHECK(text != NULL && strlen(text) == 1000);
  free(text);
  return ((char* (*)(int))(uintptr_t)make)(77);
}

// A library that allocates in constructors, destructors and thread-locals, loaded again and again.
//@ broken-by tls_dead
//@ arguments {bin}/nasty/lib_lifecycle.so
CASE(dlopen_library) {
  CHECK(argument_count == 2);
  for (int round = 0; round < 100; ++round) {
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    void* make = dlsym(library, "make_text");
    CHECK(make != NULL);
    char* text = make_texts(make);
    pthread_t thread;
    void* of_thread = NULL;
    CHECK(pthread_create(&thread, NULL, make_texts, make) == 0);
    CHECK(pthread_join(thread, &of_thread) == 0);
    CHECK(dlclose(library) == 0);
    CHECK(strlen(text) == 77 && strlen(of_thread) == 77);  // blocks outlive the code that made them
    free(text);
    free(of_thread);
  }
  CHECK(dlopen("/nowhere/no.so", RTLD_NOW) == NULL && strstr(dlerror(), "no.so"));
}

static void* use_both(void* argument) {
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

// The drop-in loaded by dlopen into a program on the system's malloc: its own heap, called by name.
//@ no-preload
//@ tarn-only
//@ broken-by malloc_short
//@ arguments {library}
CASE(dlopened_allocator) {
  CHECK(argument_count == 2);
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) dprintf(2, "%s\n", dlerror());
  CHECK(library != NULL);
  make = (void* (*)(size_t))(uintptr_t)dlsym(library, "malloc");
  release = (void (*)(void*))(uintptr_t)dlsym(library, "free");
  CHECK(make != NULL && make != malloc && release != NULL);
  pthread_t thread;
  use_both(NULL);
  CHECK(pthread_create(&thread, NULL, use_both, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static pthread_barrier_t barrier;

static void* use_plugin(void* works) {
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
  CHECK(pthread_create(&thread, NULL, use_plugin, dlsym(library, "plugin_works")) == 0);
  pthread_barrier_wait(&barrier);
  CHECK(dlclose(library) == 0);
  CHECK((dlopen(file, RTLD_NOW | RTLD_NOLOAD) != NULL) == stays);
  pthread_barrier_wait(&barrier);
  CHECK(pthread_join(thread, NULL) == 0);
}

// A plugin with the heaps linked inside is closed before the thread that used it ends: linked as CMake and pkg-config
// say it stays (-z nodelete); linked otherwise it goes, and the thread's end must not call what is gone.
//@ tarn-only
//@ no-preload
//@ arguments {bin}/nasty/lib_plugin.so {bin}/nasty/lib_plugin_bare.so
//@ broken-by text
CASE(unloaded_plugin) {
  CHECK(argument_count == 3 && pthread_barrier_init(&barrier, NULL, 2) == 0);
  use_and_close(arguments[1], 1);
  use_and_close(arguments[2], 0);
  use_and_close(arguments[2], 0);
}

static void* call_plugin(void* works) {
  ((void (*)(void))(uintptr_t)works)();
  return NULL;
}

static void* open_and_free_much(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, call_plugin, dlsym(library, "plugin_frees_much")) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  return library;
}

// The kernel counts a thread for a moment after its end.
static void wait_until_one_thread(void) {
  alarm(hang_seconds());
  while (thread_count() != 1) usleep(1000);
  alarm(0);
}

// A helper gives back what a plugin frees: a thread in the plugin's code, which sleeps when the plugin is closed.
//@ tarn-only
//@ no-preload
//@ env TARN_PURGE_DELAY_MS=3600000
//@ arguments {bin}/nasty/lib_plugin_bare.so
//@ broken-by text
CASE(unloaded_plugin_whose_helper_sleeps) {
  CHECK(argument_count == 2);
  void* library = open_and_free_much(arguments[1]);
#ifdef __x86_64__
  CHECK(thread_count() > 1);
#endif
  usleep(20000);
  CHECK(dlclose(library) == 0);
  wait_until_one_thread();
}

// The helper may start or work at the moment when the plugin is closed.
//@ tarn-only
//@ no-preload
//@ env TARN_PURGE_DELAY_MS=1
//@ arguments {bin}/nasty/lib_plugin_bare.so
//@ broken-by text
CASE(unloaded_plugin_whose_helper_works) {
  CHECK(argument_count == 2);
  for (unsigned round = 0; round < 30; ++round) {
    void* library = open_and_free_much(arguments[1]);
    usleep(round * 700);
    CHECK(dlclose(library) == 0);
    wait_until_one_thread();
  }
}
