/* The public C face: prints "ok" when it works. */
#include <stdio.h>
#include <string.h>

#include <tarn/tarn.h>

int main(void) {
  tarn_heap* const heap = tarn_heap_create(NULL);
  if (heap == NULL) return 1;
  char* const text = tarn_heap_malloc(heap, 100);
  if (text == NULL) return 1;
  strcpy(text, "ok");
  puts(text);
  tarn_free(text);
  tarn_heap_destroy(heap);
  return 0;
}
