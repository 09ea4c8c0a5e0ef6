// Computes with whole numbers alone, so it raises no floating-point exception. With the argument "traps" one would end
// it. For each line of its input two threads allocate and take a lock many times; at the end it prints the flags of the
// exceptions that were raised.
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int flags;

static void* allocate(void* unused) {
  for (unsigned count = 0; count < 20000; ++count) {
    pthread_mutex_lock(&mutex);
    void* volatile block = malloc(1000 + count % 977);
    pthread_mutex_unlock(&mutex);
    free(block);
  }
  pthread_mutex_lock(&mutex);
  flags |= fetestexcept(FE_ALL_EXCEPT);
  pthread_mutex_unlock(&mutex);
  return unused;
}

int main(int count, char** arguments) {
  feclearexcept(FE_ALL_EXCEPT);
  if (count > 1 && strcmp(arguments[1], "traps") == 0) feenableexcept(FE_ALL_EXCEPT);
  puts("ready");
  fflush(stdout);
  for (char line[80]; fgets(line, sizeof line, stdin) != NULL;) {
    pthread_t thread;
    pthread_create(&thread, NULL, allocate, NULL);
    allocate(NULL);
    pthread_join(thread, NULL);
    puts("done");
    fflush(stdout);
  }
  printf("%d raised\n", flags);
  return 0;
}
