/* Uses a heap for one kind of work in C; docs/guide/heaps.md quotes it. */
#include <stdio.h>

#include <tarn/tarn.h>

int main(void) {
  const tarn_heap_options options = {.name = "requests", .limit = 64u << 20};
  tarn_heap* const requests = tarn_heap_create(&options);
  if (requests == NULL) return 1;
  tarn_heap* const before = tarn_set_current_heap(requests);
  char* const reply = tarn_malloc(100); /* from the current heap */
  if (reply != NULL) {
    snprintf(reply, 100, "request %d is served", 7);
    puts(reply);
  }
  tarn_heap_release(requests); /* frees the reply and everything else of this heap */
  tarn_set_current_heap(before);
  tarn_heap_destroy(requests);
}
