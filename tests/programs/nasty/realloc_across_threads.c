// A block made in one thread is grown in the next, thread after thread, and keeps its contents.
//@ broken-by realloc_drops realloc_moves_wrong
#include <pthread.h>
#include "../check.h"

struct buffer {
  char* bytes;
  size_t size;
};

static void* grow(void* argument) {
  struct buffer* b = argument;
  size_t larger = b->size * 5 / 4 + 1;
  b->bytes = realloc(b->bytes, larger);
  CHECK(b->bytes != NULL && is_filled(b->bytes, b->size, 6));
  fill(b->bytes, larger, 6);
  b->size = larger;
  return NULL;
}

int main(void) {
  struct buffer buffers[20];
  for (int i = 0; i < 20; ++i) {
    buffers[i].size = (size_t)i + 1;
    buffers[i].bytes = malloc(buffers[i].size);
    fill(buffers[i].bytes, buffers[i].size, 6);
  }
  for (int step = 0; step < 50; ++step) {
    pthread_t threads[20];
    for (int i = 0; i < 20; ++i) {
      CHECK(pthread_create(&threads[i], NULL, grow, &buffers[i]) == 0);
    }
    for (int i = 0; i < 20; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  for (int i = 0; i < 20; ++i) {
    CHECK(is_filled(buffers[i].bytes, buffers[i].size, 6));
    free(buffers[i].bytes);
  }
  return 0;
}
