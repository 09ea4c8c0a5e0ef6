// One function allocates buffers and another one grows them: growing [BUFFERS]
#include <stdlib.h>

enum { steps = 7 };

__attribute__((noinline)) static char* allocate_buffer(void) {
  char* const buffer = malloc(16);
  if (buffer != NULL) buffer[0] = 1;
  return buffer;
}

__attribute__((noinline)) static char* grown(char* buffer, size_t bytes) {
  char* const larger = realloc(buffer, bytes);
  if (larger == NULL) abort();
  return larger;
}

int main(int count, char** arguments) {
  for (long left = count > 1 ? atol(arguments[1]) : 100000; left > 0; --left) {
    char* buffer = allocate_buffer();
    for (int step = 1; step <= steps; ++step) buffer = grown(buffer, (size_t)16 << step);
    free(buffer);
  }
  return 0;
}
