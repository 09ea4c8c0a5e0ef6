// Fails when libtarn-record.so calls, from one of its hooks, a function that may take a lock or allocate. It defines
// those functions itself, so the recorder's calls come here; which they are: docs/design/recorder-calls.md.
//   hooks          does what the recorder hooks, from threads, forks and handlers of signals
//   hooks list     prints the names that it watches
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), noinline))

static volatile uintptr_t recorder_begin, recorder_end;  // 0 until main() has begun

static void check(const char* name, void* caller) {
  if ((uintptr_t)caller - recorder_begin >= recorder_end - recorder_begin) return;
  char line[200];
  (void)!write(2, line, (size_t)snprintf(line, sizeof line, "a hook of the recorder calls %s\n", name));
  _exit(99);
}

static void* next(const char* name) {
  static void* (*real)(void*, const char*);
  if (!real) real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  return real(RTLD_NEXT, name);
}
#define CHECK(name) check(name, __builtin_return_address(0))

EXPORT void* dlsym(void* library, const char* name) {
  CHECK("dlsym");
  static void* (*real)(void*, const char*);
  if (!real) real = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  // RTLD_NEXT means the library after the caller's, which would be this program.
  return library == RTLD_NEXT ? dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name) : real(library, name);
}
EXPORT int dladdr1(const void* address, Dl_info* facts, void** extra, int flags) {
  CHECK("dladdr1");
  return ((int (*)(const void*, Dl_info*, void**, int))next("dladdr1"))(address, facts, extra, flags);
}
EXPORT int on_exit(void (*function)(int, void*), void* argument) {
  CHECK("on_exit");
  return ((int (*)(void (*)(int, void*), void*))next("on_exit"))(function, argument);
}
EXPORT int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void* library) {
  CHECK("__register_atfork");
  return ((int (*)(void (*)(void), void (*)(void), void (*)(void), void*))next("__register_atfork"))(before, parent,
                                                                                                     child, library);
}
EXPORT int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  CHECK("pthread_key_create");
  return ((int (*)(pthread_key_t*, void (*)(void*)))next("pthread_key_create"))(key, destructor);
}
EXPORT int pthread_key_delete(pthread_key_t key) {
  CHECK("pthread_key_delete");
  return ((int (*)(pthread_key_t))next("pthread_key_delete"))(key);
}
EXPORT void* dlopen(const char* file, int flags) {
  CHECK("dlopen");
  return ((void* (*)(const char*, int))dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34"))(file, flags);
}
EXPORT int dl_iterate_phdr(int (*callback)(struct dl_phdr_info*, size_t, void*), void* data) {
  CHECK("dl_iterate_phdr");
  return ((int (*)(int (*)(struct dl_phdr_info*, size_t, void*), void*))next("dl_iterate_phdr"))(callback, data);
}
static const char* const watched[] = {"dlsym",
                                      "dladdr1",
                                      "dlopen",
                                      "dl_iterate_phdr",
                                      "on_exit",
                                      "__register_atfork",
                                      "pthread_key_create",
                                      "pthread_key_delete"};

static int find_recorder(struct dl_phdr_info* info, size_t size, void* is_found) {
  (void)size;
  if (!strstr(info->dlpi_name, "libtarn-record.so")) return 0;
  *(int*)is_found = 1;
  uintptr_t end = 0;
  for (int index = 0; index < info->dlpi_phnum; ++index) {
    if (info->dlpi_phdr[index].p_type == PT_LOAD)
      end = info->dlpi_addr + info->dlpi_phdr[index].p_vaddr + info->dlpi_phdr[index].p_memsz;
  }
  recorder_end = end;
  recorder_begin = info->dlpi_addr;
  return 1;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static mtx_t plain;

static void on_signal(int number) {
  (void)number;
  free(malloc(10));
}

static void use_all(void) {
  void* volatile block = malloc(100);
  block = realloc(block, 100000);
  free(block);
  block = calloc(10, 10);
  free(block);
  if (posix_memalign((void**)&block, 64, 1000) == 0) free(block);
  free(aligned_alloc(64, 128));
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  if (pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex);
  pthread_rwlock_rdlock(&shared);
  pthread_rwlock_unlock(&shared);
  pthread_rwlock_wrlock(&shared);
  pthread_rwlock_unlock(&shared);
  mtx_lock(&plain);
  mtx_unlock(&plain);
  const struct timespec past = {1, 0};
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&condition, &mutex, &past);
  pthread_mutex_unlock(&mutex);
  (void)getppid();
}

// The first event of a thread comes while the C library holds the thread's own lock.
static void* ask(void* argument) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) abort();
  pthread_attr_destroy(&attributes);
  use_all();
  raise(SIGUSR1);
  return argument;
}
static int ask_plainly(void* argument) {
  ask(argument);
  return 0;
}
static void* leave(void* argument) {
  free(malloc(10));
  pthread_exit(argument);
}

static void one_round(void) {
  pthread_t thread;
  thrd_t second_thread;
  for (int round = 0; round < 20; ++round) {
    if (pthread_create(&thread, NULL, round % 2 ? ask : leave, NULL) == 0) pthread_join(thread, NULL);
    if (thrd_create(&second_thread, ask_plainly, NULL) == thrd_success) thrd_join(second_thread, NULL);
  }
  use_all();
  raise(SIGUSR1);
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "list") == 0) {
    for (size_t index = 0; index < sizeof watched / sizeof *watched; ++index) puts(watched[index]);
    return 0;
  }
  int is_found = 0;
  dl_iterate_phdr(find_recorder, &is_found);
  if (!is_found) return 98;
  mtx_init(&plain, mtx_plain);
  signal(SIGUSR1, on_signal);
  one_round();
  const pid_t child = fork();
  if (child == 0) {
    one_round();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return 97;
  puts("ended");
  return 0;
}
