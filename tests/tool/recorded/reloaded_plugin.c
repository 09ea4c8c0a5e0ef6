// Allocates, locks and makes system calls in functions whose names begin with NAME: a library of reloaded.cpp. Those of
// two names differ in nothing else, so that their functions have the same addresses in turn.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define JOINED(name, purpose) name##purpose
#define IN_NAME(name, purpose) JOINED(name, purpose)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void* IN_NAME(NAME, _makes)(void) { return malloc(64 * 1024); }
static __attribute__((noinline)) void IN_NAME(NAME, _locks)(void) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}
static __attribute__((noinline)) void IN_NAME(NAME, _calls)(void) { (void)getppid(); }

__attribute__((constructor, noinline)) static void IN_NAME(NAME, _begins)(void) { free(IN_NAME(NAME, _makes)()); }
__attribute__((destructor, noinline)) static void IN_NAME(NAME, _ends)(void) { free(IN_NAME(NAME, _makes)()); }

void run_plugin(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    free(IN_NAME(NAME, _makes)());
    IN_NAME(NAME, _locks)();
    IN_NAME(NAME, _calls)();
  }
}
