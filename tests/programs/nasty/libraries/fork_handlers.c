// A library with a table under a lock, kept whole in forked children as the manual of pthread_atfork says. Its
// constructor runs before that of a preloaded allocator, and does not allocate.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "../../check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool fork_waits;  // a mutex goes to whoever takes it first: that is the thread that has just freed it
static void* table[60];

// Every size class, and blocks of their own: much of this needs what locks guard.
static void rebuild(void) {
  for (int i = 0; i < 60; ++i) {
    free(table[i]);
    table[i] = malloc(((size_t)17 << i / 4) + (size_t)(i % 4) * 16);
  }
}

static void prepare(void) {
  atomic_store(&fork_waits, true);
  pthread_mutex_lock(&lock);
  atomic_store(&fork_waits, false);
  rebuild();
}
static void after(void) {
  rebuild();
  pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void loaded(void) { CHECK(pthread_atfork(prepare, after, after) == 0); }

void library_works(void) {
  while (atomic_load(&fork_waits)) sched_yield();
  pthread_mutex_lock(&lock);
  rebuild();
  pthread_mutex_unlock(&lock);
}
