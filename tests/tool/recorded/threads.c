/* THREADS threads allocate BLOCKS blocks of 100 bytes each and stay (or end, with the word "end"); then the first
 * thread frees all of them and exits with 7 (or waits, with the word "wait"). So the numbers of the report are known.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int blocks;
static int stay;
static pthread_barrier_t allocated;

static void* work(void* slots) {
  for (int index = 0; index < blocks; ++index) {
    ((void**)slots)[index] = malloc(100);
  }
  pthread_setname_np(pthread_self(), "w\n\"\x1b[2J");
  if (!stay) return NULL;
  pthread_barrier_wait(&allocated);
  for (;;) pause();
  return NULL;
}

int main(int count, char** arguments) {
  if (count < 3 || count > 4) return 2;
  const int threads = atoi(arguments[1]);
  blocks = atoi(arguments[2]);
  const int must_wait = count == 4 && strcmp(arguments[3], "wait") == 0;
  stay = count == 3 || must_wait;
  pthread_barrier_init(&allocated, NULL, (unsigned)threads + 1);
  void** const slots = calloc((size_t)threads * (size_t)blocks, sizeof(void*));
  if (slots == NULL) return 3;
  for (int index = 0; index < threads; ++index) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, slots + (size_t)index * (size_t)blocks) != 0) return 3;
    if (!stay) pthread_join(thread, NULL);
  }
  if (stay) pthread_barrier_wait(&allocated);
  for (int index = 0; index < threads * blocks; ++index) free(slots[index]);
  free(slots);
  puts("done");
  fflush(stdout);
  while (must_wait) pause();
  exit(7);
}
